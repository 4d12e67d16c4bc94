"""Holds what the recall finds against plain methods over the same memories, and fails where it is below them.

The service of this checkout is asked over HTTP. The plain methods are vectors alone, BM25, and the fusion of both.
"""

import asyncio
import sys
import time
from pathlib import Path

import click

from app.adapters.local.transformer import packaged_model_dir
from bench.client import RequestFailed
from bench.quality.asking import Plan
from bench.quality.bar.measuring import measured, plain, product, stores, texts
from bench.quality.bar.results import Results
from bench.quality.bar.stores import asked
from bench.quality.dataset import DataInvalid, read
from bench.quality.measuring import say
from bench.quality.results import inventory
from bench.quality.service import ServiceFailed
from bench.report import RESULTS, circumstances
from bench.server import ServerFailed
from training.reader.measuring import Embedded

_SIZES = "0,200,2000"
_READERS = ("none", "local")


@click.command(help=__doc__)
@click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--sizes", default=_SIZES, show_default=True, metavar="A,B", help="Neighbours in each store.")
@click.option(
    "--reader", "readers", multiple=True, default=_READERS, show_default=True, help="READER of the own servers."
)
@click.option("--parallel", default=2, show_default=True, help="Stores under way at once.")
@click.option("--questions", default=None, type=click.IntRange(1), help="At most so many of each data set.")
@click.option("--out", default=RESULTS, type=click.Path(file_okay=False, path_type=Path), help="Folder of the results.")
def main(
    *,
    data: tuple[Path, ...],
    sizes: str,
    readers: tuple[str, ...],
    parallel: int,
    questions: int | None,
    out: Path,
) -> None:
    """Measure, print the table and the verdict, write both, and exit with 1 where the product is below the bar."""
    started = time.monotonic()
    try:
        conversations = asked(read(data), questions)
        held = stores(conversations, _counts(sizes))
        methods = [*plain(_embedded(texts(held))), *map(product, readers)]
        found = asyncio.run(measured(held, methods, Plan(f"bar-{int(time.time())}", parallel)))
    except (DataInvalid, ServiceFailed, ServerFailed, RequestFailed) as error:
        raise click.ClickException(str(error)) from error
    results = Results(found, inventory(conversations), circumstances(time.monotonic() - started))
    results.write(out)
    click.echo(f"{results.table()}\n\n{results.verdict()}")
    sys.exit(bool(results.below))


def _counts(sizes: str) -> list[int]:
    counts = sizes.split(",")
    if not all(count.isdecimal() for count in counts):
        raise click.BadParameter(f"{sizes}: write numbers with commas between", param_hint="--sizes")
    return sorted({int(count) for count in counts})


def _embedded(every: list[str]) -> Embedded:
    """Return the product's embedding model, which has embedded every text already."""
    directory = packaged_model_dir()
    if directory is None:
        raise click.ClickException("The embedding model is not installed: make run installs it.")
    started = time.monotonic()
    embedded = Embedded(directory)
    embedded(every)
    say(f"embedded {len(every)} texts in {time.monotonic() - started:.0f} s")
    return embedded


if __name__ == "__main__":
    main()
