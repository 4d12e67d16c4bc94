"""The command that merges memories that restate each other, tells what it has merged, and takes it back."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import click

from app.bootstrap import build_reader, open_databases, process_name
from app.domain.consolidation import Consolidation, ConsolidationUndone
from app.domain.errors import ShardUnavailable
from app.domain.limits import CONSOLIDATION_ID
from app.domain.moments import format_moment
from app.indexing.jobs.consolidate import Consolidate, Consolidated
from app.indexing.rate_limiter import RateLimiter
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    DEFAULT,
    Bounded,
    CommandAnswer,
    Id,
    each_shard,
    prints_answer,
    quiet_settings,
    with_runtime,
)
from app.interfaces.cli.reconcile import rate_option
from app.interfaces.http.schemas.consolidation import ConsolidationUndoneAnswer, MergeAnswer
from app.ports.database import Database
from app.runtime.maintenance import UNMETERED
from app.runtime.runtime import Runtime
from app.settings import Settings

_REPORTS = 10
ConsolidateShard = Callable[[Database], Awaitable[Consolidated]]
"""Consolidates what one shard's database holds."""


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be merged.")
@click.option(
    "--tenant",
    type=Id(),
    help=f"Consolidate this tenant alone; absent: all. Without it --report and --undo are about {DEFAULT}.",
)
@click.option("--report", is_flag=True, help="Tell what the last consolidations of a tenant have merged.")
@click.option("--undo", type=Bounded(CONSOLIDATION_ID, "id"), help="Take back a tenant's consolidation of this id.")
@click.option("--yes", is_flag=True, help="With --undo: do it; without this, it is only said what it would do.")
@rate_option
@administers("consolidation.undo", unless=lambda given: not (given["undo"] and given["yes"]), fallback=DEFAULT)
@administers("consolidation.run", unless=lambda given: given["undo"] or given["report"] or given["dry_run"])
@prints_answer
async def consolidate(
    *, dry_run: bool, tenant: str | None, report: bool, undo: str | None, yes: bool, calls_per_minute: float
) -> CommandAnswer:
    """Merge memories and facts that restate each other, agent by agent.

    One of them is kept, and the others stay, superseded by it. Chains of superseded memories are closed, and expired
    tasks. One process at a time does it, beside running servers; what was stopped goes on where it was. Every prune
    does it too, unless CONSOLIDATE is false.
    """
    if dry_run + report + (undo is not None) > 1:
        raise click.UsageError("Choose one of --dry-run, --report and --undo.")
    if yes and undo is None:
        raise click.UsageError("--yes goes with --undo alone.")
    if undo is not None:
        return await _undo(tenant or DEFAULT, undo, yes=yes)
    if report:
        return await _report(tenant or DEFAULT)
    done = await _consolidate(quiet_settings(), calls_per_minute, tenant, dry_run=dry_run)
    return CommandAnswer({"dry_run": dry_run, **_as_json(done)}, _text(done, dry_run=dry_run))


def _as_json(done: Consolidated) -> dict[str, Any]:
    """Return what was done as JSON tells it."""
    merges = [{"tenant": tenant, **MergeAnswer.model_validate(merge).model_dump()} for tenant, merge in done.merges]
    counts = {name: value for name, value in asdict(done).items() if name != "merges"}
    return {**counts, "merges": merges}


def sentence(done: Consolidated) -> str:
    """Return what was done in a sentence."""
    return (
        f"{done.memories} memories and {done.facts} facts merged into others, {done.chains} chains closed, "
        f"{done.tasks} expired tasks deleted."
    )


@asynccontextmanager
async def consolidating(
    settings: Settings, rate_limiter: RateLimiter, tenant: str | None = None, *, dry_run: bool = False
) -> AsyncIterator[ConsolidateShard]:
    """Open the reader, and close it in the end; yield what consolidates a shard.

    Raises:
        ConfigurationError: the reader of the settings cannot be used.
    """
    reader = build_reader(settings)

    async def one(database: Database) -> Consolidated:
        job = Consolidate(
            database, reader, holder=process_name(), rate_limiter=rate_limiter, report=_tell, dry_run=dry_run
        )
        return await job.run(tenant)

    try:
        yield one
    finally:
        if reader is not None:
            await reader.close()


async def _consolidate(
    settings: Settings, calls_per_minute: float, tenant: str | None, *, dry_run: bool
) -> Consolidated:
    """Consolidate every shard; return the sum. A shard that cannot be used keeps no other one waiting."""
    rate_limiter = RateLimiter(calls_per_minute if settings.on_cloudflare else UNMETERED)
    done = Consolidated()
    async with (
        open_databases(settings, leased=True) as databases,
        consolidating(settings, rate_limiter, tenant, dry_run=dry_run) as one,
    ):

        async def work(database: Database) -> Sequence[str]:
            done.sum_up(await one(database))
            return []

        failed = await each_shard(databases, work)
    if failed:
        raise ShardUnavailable(f"{' '.join(failed)} The others were consolidated.")
    return done


def _tell(done: Consolidated) -> None:
    if done.memories + done.facts:
        click.echo(f"... {done.memories + done.facts} merged", err=True)


def _text(done: Consolidated, *, dry_run: bool) -> str:
    lines = [f"{merge.other_id} into {merge.kept_id} ({tenant}, {merge.agent_id})" for tenant, merge in done.merges]
    forecast = f"Would be done of {done.agents} agents of {done.tenants} tenants: " if dry_run else ""
    return "\n".join([f"{forecast}{sentence(done)}", *(lines if dry_run else [])])


async def _report(tenant: str) -> CommandAnswer:
    reports = await with_runtime(lambda runtime: runtime.services(tenant).consolidations.latest(_REPORTS), tenant)
    lines = [_line(report) for report in reports] or ["There was no consolidation yet."]
    return CommandAnswer({"consolidations": [asdict(report) for report in reports]}, "\n".join(lines))


def _line(report: Consolidation) -> str:
    ended = ("under way" if report.finished_at is None else f"in {report.milliseconds} ms") + (
        ", undone" if report.undone_at is not None else ""
    )
    return (
        f"{report.id} {format_moment(report.started_at)} ({ended}): {report.memories} memories, {report.facts} facts, "
        f"{report.chains} chains, {report.tasks} tasks"
    )


async def _undo(tenant: str, consolidation_id: str, *, yes: bool) -> CommandAnswer:
    async def work(runtime: Runtime) -> ConsolidationUndone:
        service = runtime.services(tenant).consolidations
        if not yes:
            return await service.undo_dry_run(consolidation_id)
        while (undone := await service.undo(consolidation_id)).more:
            click.echo(f"... {undone.memories} hold again", err=True)
        return undone

    undone = await with_runtime(work, tenant)
    done, forecast = f"{undone.memories} memories hold again.", f"{undone.memories} memories would hold again."
    text = done if yes else f"{forecast} Do it with --yes."
    return CommandAnswer(ConsolidationUndoneAnswer.model_validate(undone).model_dump(), text)
