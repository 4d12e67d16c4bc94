"""Tells memory services conversations, asks them questions, and prints and writes how well they found the answers."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import click
import httpx

from bench.ablation import PARTS
from bench.client import RequestFailed
from bench.quality.asking import Plan
from bench.quality.dataset import DataInvalid, chosen, read
from bench.quality.document import markdown
from bench.quality.measuring import READER, Measurement, measure_bm25, measure_own, measure_service
from bench.quality.results import Results, inventory
from bench.quality.scores import RESAMPLES
from bench.quality.service import ServiceFailed
from bench.quality.services import SERVICES
from bench.quality.summary import Run
from bench.quality.variants import Variant, variants
from bench.report import RESULTS, circumstances
from bench.server import ServerFailed

_REQUEST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Target:
    """A service that runs already."""

    adapter: str
    base_url: str
    token: str | None


@dataclass(frozen=True, slots=True)
class Own:
    """Servers to start from this checkout."""

    embedders: tuple[str, ...]
    readers: tuple[str, ...]
    variants: list[Variant]
    settings: dict[str, str]

    @property
    def first(self) -> dict[str, str]:
        """The settings with the first reader, where one is named."""
        return {**self.settings, READER: self.readers[0]} if self.readers else self.settings


@click.command(help=__doc__)
@click.argument("data", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--embedder", "embedders", multiple=True, help="EMBEDDER of an own server; several are compared. [local]")
@click.option(
    "--reader", "readers", multiple=True, help="READER of an own server; parts are left out of the first one."
)
@click.option("--env", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the own servers.")
@click.option("--ablate", is_flag=True, help=f"Leave out each of {', '.join(PARTS)} in turn.")
@click.option("--without", multiple=True, metavar="PARTS", help="Leave these out together, separated by commas.")
@click.option("--base-url", help="Measure the service that runs there instead.")
@click.option("--token", envvar="QUALITY_TOKEN", help="Its credential or key.")
@click.option("--service", type=click.Choice(list(SERVICES)), default="gateway", show_default=True, help="Its API.")
@click.option("--conversations", default="", metavar="A,B", help="Only these conversations.")
@click.option("--foreign", default=0, show_default=True, help="Questions of others to ask each conversation.")
@click.option("--parallel", default=4, show_default=True, help="Conversations under way at once.")
@click.option("--resamples", default=RESAMPLES, show_default=True, help="Resamples behind an interval.")
@click.option("--ingest", is_flag=True, help="Tell own servers conversations by ingesting them, session by session.")
@click.option("--bm25", is_flag=True, help="Measure plain BM25 over the same data too.")
@click.option("--out", default=RESULTS, type=click.Path(file_okay=False, path_type=Path), help="Folder of the results.")
def main(
    *,
    data: tuple[Path, ...],
    embedders: tuple[str, ...],
    readers: tuple[str, ...],
    settings: tuple[str, ...],
    ablate: bool,
    without: tuple[str, ...],
    base_url: str | None,
    token: str | None,
    service: str,
    conversations: str,
    foreign: int,
    parallel: int,
    resamples: int,
    ingest: bool,
    bm25: bool,
    out: Path,
) -> None:
    """Read the data, measure, print the tables and write the results."""
    started = time.monotonic()
    if base_url is not None and (embedders or readers or settings or ablate or without):
        raise click.UsageError(
            "--embedder, --reader, --env, --ablate and --without are for own servers, not for --base-url"
        )
    try:
        measured = chosen(read(data), [name for name in conversations.split(",") if name])
        plan = Plan(prefix=f"quality-{int(time.time())}", parallel=parallel, foreign=foreign)
        measurement = Measurement(measured, plan, resamples, ingests=ingest)
        if base_url is not None:
            runs = asyncio.run(_running(Target(service, base_url, token), measurement))
        else:
            own = Own(embedders or ("local",), readers, variants(ablate=ablate, without=without), _settings(settings))
            runs = asyncio.run(_own(own, measurement))
        if bm25:
            runs.append(asyncio.run(measure_bm25(measurement)))
        Results(runs, inventory(measured), circumstances(time.monotonic() - started)).write(out)
    except (DataInvalid, ServiceFailed, ServerFailed, RequestFailed, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(markdown(runs))


async def _running(target: Target, measurement: Measurement) -> list[Run]:
    async with httpx.AsyncClient(base_url=target.base_url, timeout=_REQUEST_SECONDS) as client:
        service = SERVICES[target.adapter](client, target.token)
        return [await measure_service(target.adapter, service, measurement)]


async def _own(own: Own, measurement: Measurement) -> list[Run]:
    runs = []
    for embedder in own.embedders:
        runs += await measure_own(embedder, own.variants, own.first, measurement)
        for reader in own.readers[1:]:
            runs += await measure_own(embedder, own.variants[:1], {**own.settings, READER: reader}, measurement)
    return runs


def _settings(pairs: tuple[str, ...]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    wrong = [name for name, equals, _ in split if not equals]
    if wrong:
        raise ValueError(f"--env {wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in split}


if __name__ == "__main__":
    main()
