"""Turns a published set into lines of this package's form: ``python -m bench.quality.converting --set NAME FILE...``.

The sets are those of ``memory-gateway eval``. A question of which only the sessions are known that answer it is left
out and named: what this package measures are turns.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from app.interfaces.cli.evaluation.published import SETS


def converted(name: str, files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Give the conversations of a set, with the questions of which the turns are known, or that have no answer.

    Raises:
        DataInvalid: a file has another form.
    """
    for file in files:
        for _, line in SETS[name].lines(file):
            kept = [question for question in line["questions"] if not _lacks_turns(question)]
            for question in line["questions"]:
                if question not in kept:
                    print(f"{question['qid']} marks no turn as its evidence: left out", file=sys.stderr)
            if kept:
                yield {**line, "questions": kept}


def _lacks_turns(question: Mapping[str, Any]) -> bool:
    return bool(question.get("sessions")) and not question["gold"]


@click.command(help=__doc__)
@click.option("--set", "name", type=click.Choice(list(SETS)), required=True)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(name: str, files: tuple[Path, ...]) -> None:
    """Write a line for each conversation."""
    for line in converted(name, files):
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
