"""Runs ``bench.evaluation`` with the language model of the settings, or of the double where none is set."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

from bench.evaluation.__main__ import evaluate
from bench.report import RESULTS
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running

_SET = Path(__file__).parent / "conversations.jsonl"
_OF_THE_DOUBLE = "The model is the double's, which knows no language: these are no figures of a model's quality."
_NOT_ANALYSED = ["--against", "RECALL_ANALYSIS_SECONDS=0"]


def main() -> None:
    """Measure what a model adds, and of that what its analysis of queries does; write two files to the results."""
    arguments = [str(_SET), *sys.argv[1:]]
    with ExitStack() as stack:
        if os.environ.get("LANGUAGE_MODEL", "none") == "none":
            options = DoubleOptions()
            double = stack.enter_context(running(options))
            os.environ |= {  # and not by --with, which names the sides and would show the key
                "LANGUAGE_MODEL": "http",
                "LANGUAGE_MODEL_NAME": "double",
                "LANGUAGE_MODEL_BASE_URL": double.openai_url,
                "LANGUAGE_MODEL_API_KEY": options.openai_api_key,
            }
            arguments += ["--note", _OF_THE_DOUBLE]
        evaluate.main([*arguments, "--out", str(RESULTS / "model.json")], standalone_mode=False)
        without = [*arguments, *_NOT_ANALYSED, "--out", str(RESULTS / "model-analysis.json")]
        evaluate.main(without, standalone_mode=False)


if __name__ == "__main__":
    main()
