"""Fits what counts in a score, and writes it where the service reads it: ``python -m training.fusion --help``."""

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from app.adapters.local.reader.local_reader import PACKAGED as READER
from app.adapters.local.reader.local_reader import LocalReader
from app.adapters.local.transformer import packaged_model_dir
from app.retrieval import answering
from app.retrieval.fusion import Fusion
from app.retrieval.weights import PACKAGED, Weights
from training.fusion.file import write
from training.fusion.fitting import fitted, joined
from training.fusion.gathering import Case, few, gather
from training.fusion.sets import sets

_SEED = 5


def main() -> None:
    """Run the command."""
    parser = ArgumentParser(prog="python -m training.fusion", description=__doc__)
    commands = parser.add_subparsers(required=True)
    fit = commands.add_parser("fit", help="fit the weights, and write them")
    fit.add_argument("conversations", nargs="*", type=Path, help="files of conversations, as bench/quality reads them")
    fit.add_argument("--begun", type=Path, default=PACKAGED, help="weights to begin with")
    fit.add_argument("--out", type=Path, default=PACKAGED)
    fit.set_defaults(run=_fit)
    given = parser.parse_args()
    asyncio.run(given.run(given.conversations, given.begun, given.out))


async def _fit(conversations: Sequence[Path], begun: Path, out: Path) -> None:
    trunk = packaged_model_dir()
    if trunk is None:
        sys.exit("The embedding model is not installed: make run installs it.")
    by_set: list[list[Case]] = []
    for labelled in sets(conversations):
        by_set.append(await gather(labelled))
        print(f"{labelled.name}: {len(by_set[-1])} questions", flush=True)
    cases = [case for of_set in by_set for case in of_set]
    draw = Random(_SEED)  # noqa: S311 - the same each time
    small = [few(case, draw) for case in cases]
    weights = fitted(by_set, small, Weights.of(begun))
    cases += small
    reader = LocalReader(trunk, READER)
    try:
        read = [await _read(reader, case, weights) for case in cases]
    finally:
        await reader.close()
    write(joined(cases, read, weights), out)
    print(f"written to {out}")


async def _read(reader: LocalReader, case: Case, weights: Weights) -> Mapping[str, float]:
    """Return the relevance of what a recall has read."""
    chosen = answering.to_read(Fusion(case.query, case.pool, weights=weights), collapse=False)
    values = await reader.relevance(case.query.text, list(chosen.values())) if chosen else []
    return dict(zip(chosen, values, strict=True))


if __name__ == "__main__":
    main()
