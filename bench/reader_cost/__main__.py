"""Measures what the reader costs, beside the same without it, and writes it to ``bench/results/reader_cost.*``.

Parts: ``reading`` (in this process, beside an embedding), ``recall``, ``store`` and ``memory`` (two servers in turn,
READER none and local). A part that is not run keeps its figures. It needs a machine that does nothing else.
"""

import asyncio
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Awaitable, Callable, Mapping

from app.adapters.local.reader.local_reader import PACKAGED
from app.adapters.local.reader.weights import ReaderCard
from bench.reader_cost import reading, serving
from bench.reader_cost.turns import Columns
from bench.reading.results import Results
from bench.report import RESULTS, circumstances

_ROUNDS = 9
_PARTS: Mapping[str, Callable[[int], Awaitable[Columns]]] = {
    "reading": reading.measure,
    "recall": serving.recall,
    "store": serving.store,
    "memory": serving.memory,
}
_NOTES = """\
CPU is user and system time of all threads, per operation. A figure is the median of the rounds, and `ratio` the median
of the ratios of the rounds, in which both take turns. The texts are those of scenes, and each is new. A query is cold
when it is asked for the first time, and warm when it is asked again. `until its answer` is what the server has used of
the processor when the answer of a store is there, one store at a time, `with all that follows` what it has used once
it rests."""


def main() -> None:
    """Measure the parts that are named, or all, and write their figures in place of those that they had."""
    parser = ArgumentParser(
        prog="python -m bench.reader_cost", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)}; all without one")
    parser.add_argument(
        "--rounds", type=int, default=_ROUNDS, help=f"[{_ROUNDS}] with fewer, for a trial, nothing is written"
    )
    given = parser.parse_args()
    if unknown := set(given.parts) - set(_PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    results = Results(RESULTS / "reader_cost.json", "What the reader costs", _NOTES)
    for part in given.parts or _PARTS:
        print(f"{time.strftime('%H:%M:%S')} {part} ...", file=sys.stderr, flush=True)
        started = time.monotonic()
        columns = asyncio.run(_coroutine(part, given.rounds))
        measured = {**circumstances(time.monotonic() - started), "reader": ReaderCard.read(PACKAGED).version}
        for column, figures in columns.items():
            results.replace(part, column, figures, measured)
        print(f"{part}\n{results.table(part)}\n", flush=True)
        if given.rounds >= _ROUNDS:
            results.write()


async def _coroutine(part: str, rounds: int) -> Columns:
    return await _PARTS[part](rounds)


if __name__ == "__main__":
    main()
