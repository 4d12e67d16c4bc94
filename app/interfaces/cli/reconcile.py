"""Commands that compare the index with the database, and rebuild it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

import click

from app.adapters.cloudflare.account import Placement
from app.bootstrap import build_provisioning, open_maintenance, read_shards
from app.domain.errors import MemoryGatewayError
from app.domain.shards import Shard
from app.indexing.jobs.findings import Findings, Progress, together
from app.indexing.jobs.reconcile_blobs import BlobFindings
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import CommandAnswer, poll_option, prints_answer, quiet_settings, tell_shard
from app.interfaces.cli.progress import progress_bar
from app.runtime.maintenance import Maintenance
from app.settings import Settings

rate_option = click.option(
    "--calls-per-minute",
    type=click.FloatRange(min=1),
    default=100.0,
    show_default=True,
    help="Make at most this many Cloudflare calls.",
)


@click.command()
@click.option("--repair", is_flag=True, help="Embed what is missing, stale or damaged, and remove orphans.")
@click.option(
    "--values/--no-values",
    default=True,
    show_default=True,
    help="Embed every memory again, and compare the values of its vector too.",
)
@rate_option
@administers("index.repair", unless=lambda given: not given["repair"])
@prints_answer
async def reconcile(*, repair: bool, values: bool, calls_per_minute: float) -> CommandAnswer:
    """Compare the indexes and the object store with the database.

    It goes id by id, and asks the index through the filter of recalls. What was stopped goes on where it was.
    """
    async with open_maintenance(quiet_settings(), calls_per_minute) as shards:
        findings = await _compared(shards, repair=repair, values=values)
        blobs = await shards[0].blobs(repair=repair).run()
    report = "\n".join([_report(findings, repair=repair), *_report_blobs(blobs, repair=repair)])
    return CommandAnswer({**asdict(findings), "blobs": asdict(blobs)}, report)


@click.command()
@click.option("--yes", is_flag=True, help="Do it; without this, nothing is changed.")
@poll_option
@rate_option
@administers("index.rebuild", unless=lambda given: not given["yes"])
@prints_answer
async def rebuild(*, yes: bool, poll_seconds: float, calls_per_minute: float) -> CommandAnswer:
    """Make a lost index again from the database alone.

    The index is created where it is absent, and every memory is embedded and sent to it. So is the index of words.
    """
    if not yes:
        raise click.UsageError("Every memory whose vector is gone is embedded again. Add --yes to do it.")
    settings = quiet_settings()
    await provision_indexes(settings, poll_seconds)
    async with open_maintenance(settings, calls_per_minute) as shards:
        for prepared in shards:
            await prepared.rebuild_words()
        findings = await _compared(shards, repair=True, values=False)
    return CommandAnswer(asdict(findings), _report(findings, repair=True))


async def _compared(shards: Sequence[Maintenance], *, repair: bool, values: bool) -> Findings:
    """Compare every shard's index with its database, and return what was found in all of them."""
    found = []
    for prepared in shards:
        tell_shard(prepared.shard, len(shards))
        with comparing("Comparing") as report:
            config = prepared.runtime.config
            found.append(await prepared.comparison(config, repair=repair, report=report).run(values=values))
    return together(found)


@contextmanager
def comparing(label: str) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar while an index is compared with the database; yield the function that updates it."""
    with progress_bar(label) as move:
        yield lambda progress: move(progress.done, progress.of)


async def provision_indexes(settings: Settings, poll_seconds: float) -> None:
    """Create on Cloudflare the index of the config in the settings for each shard where it is absent."""
    if settings.on_cloudflare:
        await _provision_index(settings, poll_seconds)
        for shard in await read_shards(settings):
            await _provision_index(settings, poll_seconds, shard)


async def _provision_index(settings: Settings, poll_seconds: float, shard: Shard | None = None) -> None:
    provisioning, close = build_provisioning(settings, "", Placement(), poll_seconds=poll_seconds, shard=shard)
    try:
        plan = await provisioning.plan()
        if plan.database_id is None:
            raise MemoryGatewayError("There is no database to make the index from.")
        await provisioning.apply(plan, lambda line: click.echo(f"... {line}", err=True))
    finally:
        await close()


def _report_blobs(findings: BlobFindings, *, repair: bool) -> Iterator[str]:
    """Tell of blobs, where there are any."""
    if not (findings.rows or findings.objects):
        return
    yield f"{findings.rows} blobs, {findings.objects} objects in the object store."
    for kind, said in (
        ("missing", "blobs whose object is lost, which stay as they are"),
        ("changed", "blobs whose object has another size, which stay as they are"),
        ("orphans", "objects without a blob"),
        ("unfinished", "blobs that were not written, or not deleted, to the end"),
        ("foreign", "objects of another writer, left alone"),
    ):
        yield _line(getattr(findings, kind), said, findings.examples.get(kind, []))
    if repair:
        yield f"{findings.repaired} removed."
    elif findings.orphans or findings.unfinished:
        yield "Nothing was changed. Run again with --repair."


def _line(count: int, said: str, shown: list[str]) -> str:
    return f"{count} {said}{': ' + ', '.join(shown) if shown else ''}{' ...' if count > len(shown) else ''}"


def _report(findings: Findings, *, repair: bool) -> str:
    lines = [f"{findings.walked} memories, {findings.listed} vectors in the index."]
    for kind, said in (
        ("missing", "memories without a vector"),
        ("orphans", "vectors without a memory"),
        ("stale", "memories embedded with another config"),
        ("hidden", "vectors that no search finds"),
        ("changed", "vectors with other values or metadata than their memories"),
        ("unreadable", "vectors that are damaged"),
        ("foreign", "vectors of another writer, left alone"),
    ):
        lines.append(_line(getattr(findings, kind), said, findings.examples.get(kind, [])))
    if findings.words:
        lines.append(f"{findings.words} memories missing in the index of words{', which was made again' * repair}.")
    if repair:
        lines.append(f"{findings.repaired} repaired; the index shows them within minutes.")
    elif any(
        (
            *(findings.missing, findings.orphans, findings.stale, findings.hidden, findings.changed),
            *(findings.unreadable, findings.words),
        )
    ):
        lines.append("Nothing was changed. Run again with --repair.")
    return "\n".join(lines)
