"""Measures what is understood of language with and without the reader, and writes it to ``bench/results/reading.*``.

Parts: ``pairs``, ``scenes`` (each told to an agent of its own), ``together`` (all of a language told to one), ``facts``
and ``dialogues`` (of files that are named) ask a service over HTTP; ``claims`` grounds statements; ``sealed`` and
``aside`` ask the reader alone about scenes that nothing was fitted to, and about those that its thresholds are set
with. A part that is not run keeps its figures, and so does a column.
"""

import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from app.adapters.local.reader.local_reader import PACKAGED
from app.adapters.local.reader.weights import ReaderCard
from bench.reading.parts import LOCAL, NONE, PARTS, WITHOUT, Given, lacks, measured
from bench.reading.results import Results
from bench.report import RESULTS, circumstances
from training.reader.scenes import SEALED

_NOTES = """\
A column is a value of READER, or a language of scenes where the reader is asked alone (`sealed`, `aside`); `vectors`
orders by cosine alone, and `before` is an older checkout. `recalls without the reader or another part` has to be 0 %:
if it is not, the machine was too busy. Of an AUC the best is 1. The scenes are the sealed ones of `training/reader/`,
but those of the part `aside`. In `bench/reading/`, `data/ORIGIN.md`, `facts.py` and `dialogues.py` tell of the other
data."""


def main() -> None:
    """Measure the parts that are named, or all, and write their figures in place of those that they had."""
    parts, given = _read()
    reader = ReaderCard.read(PACKAGED).version if LOCAL in given.readers else ""
    results = Results(RESULTS / "reading.json", "What is understood of language", _NOTES)
    for part in parts:
        if option := lacks(part, given):
            print(f"{part}: not measured without {option}", file=sys.stderr)
            continue
        print(f"{time.strftime('%H:%M:%S')} {part} ...", file=sys.stderr, flush=True)
        started = time.monotonic()
        for columns in measured(part, given):
            told = circumstances(time.monotonic() - started)
            for column, figures in columns.items():
                results.replace(part, column, figures, told if column in WITHOUT else {**told, "reader": reader})
            print(f"{time.strftime('%H:%M:%S')} {part}, {', '.join(columns)}", file=sys.stderr, flush=True)
            started = time.monotonic()
        print(f"{part}\n{results.table(part)}\n", flush=True)
        if given.few is None:
            results.write()


def _read() -> tuple[Sequence[str], Given]:
    parser = ArgumentParser(
        prog="python -m bench.reading", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all without one")
    parser.add_argument("--reader", action="append", choices=[NONE, LOCAL], help="only these; others keep theirs")
    parser.add_argument("--scenes", type=Path, default=SEALED, help="a folder [the sealed ones]")
    parser.add_argument("--facts", type=Path, metavar="FILE", help="FactConsolidation, in the form of facts.py")
    parser.add_argument(
        "--dialogues", type=Path, nargs="+", default=[], metavar="FILE", help="in the form of dialogues.py"
    )
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="ask an older one too; it has a .venv")
    parser.add_argument("--few", type=int, metavar="N", help="of each only so many, for a trial: nothing is written")
    named = parser.parse_args()
    if unknown := set(named.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    readers = named.reader or [NONE, LOCAL]
    return named.parts or PARTS, Given(readers, named.scenes, named.facts, named.dialogues, named.before, named.few)


if __name__ == "__main__":
    main()
