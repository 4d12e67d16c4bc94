"""The command that deletes what has expired or is too old."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, fields

import click

from app.bootstrap import build_objects, open_databases
from app.domain.errors import Conflict, MemoryGatewayError, ShardUnavailable
from app.domain.moments import wall_clock
from app.indexing.jobs.consolidate import Consolidated
from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.jobs.weekly import every_week
from app.indexing.rate_limiter import RateLimiter
from app.interfaces.cli.acting import acted, administers
from app.interfaces.cli.consolidate import ConsolidateShard, consolidating, sentence
from app.interfaces.cli.parameters import CommandAnswer, as_json_option, each_shard, quiet_settings, run
from app.interfaces.cli.reconcile import rate_option
from app.observability.metrics import Metrics
from app.ports.database import Database
from app.runtime.maintenance import UNMETERED
from app.settings import Settings


@click.command()
@rate_option
@click.option("--weekly", is_flag=True, help="Do so every Sunday at 03:00 UTC, until the command is stopped.")
@as_json_option
@administers("prune", unless=lambda given: given["weekly"])  # each week is an act
def prune(*, calls_per_minute: float, weekly: bool, as_json: bool) -> None:
    """Delete what has expired or is too old, of all tenants.

    These are expired memories and working memory, and old audit rows, tool calls of runs, rows of recalls, receipts,
    ingestions, credentials that have expired, counts of model calls, idempotency keys, episodes, runs and outcomes of
    workflows, and large values that no row has any more. Before that, memories that restate each other are merged, as
    `consolidate` does it, unless CONSOLIDATE is false. It is made for cron, and safe beside running servers. Where a
    shard cannot be used, the others are pruned, and the command exits with 1.
    """
    settings = quiet_settings()

    async def once() -> None:
        pruned, merged, failed = await _prune(settings, calls_per_minute)
        _answer(pruned, merged).print(as_json=as_json)
        if failed:
            raise ShardUnavailable(f"{' '.join(failed)} The others were pruned.")

    async def once_a_week() -> None:
        async with acted("prune"):
            await once()

    run(every_week(once_a_week, clock=wall_clock, sleep=asyncio.sleep) if weekly else once())


def _answer(pruned: Pruned, merged: Consolidated | None) -> CommandAnswer:
    said = (
        f"{pruned.memories} expired memories deleted.\n"
        f"Too old: {pruned.idempotency_keys} idempotency keys, {pruned.audit_rows} audit rows, {pruned.receipts} "
        f"receipts, {pruned.ingestions} ingestions, {pruned.model_spend} counts of model calls, {pruned.episodes} "
        f"episodes, {pruned.runs} runs, {pruned.workflow_outcomes} outcomes of workflows, {pruned.tool_calls} tool "
        f"calls, {pruned.recalls} rows of recalls, {pruned.credentials} expired credentials and {pruned.acts} rows of "
        "administrative acts deleted.\n"
        f"{pruned.working} expired rows of working memory and {pruned.blobs} large values deleted."
    )
    others = {name: count for name, count in asdict(pruned).items() if name != "memories"}
    counts = None if merged is None else {name: n for name, n in asdict(merged).items() if name != "merges"}
    said = said if merged is None else f"{said}\n{sentence(merged)}"
    return CommandAnswer({"pruned": pruned.memories} | others | {"consolidated": counts}, said)


async def _prune(settings: Settings, calls_per_minute: float) -> tuple[Pruned, Consolidated | None, list[str]]:
    """Prune every shard; return the sums, and what is wrong with each shard that could not be pruned.

    What cannot be merged keeps nothing from being pruned; it is told too.
    """
    rate_limiter = RateLimiter(calls_per_minute if settings.on_cloudflare else UNMETERED)
    objects = build_objects(settings, Metrics(), embedded=not settings.on_cloudflare)
    pruned: Counter[str] = Counter()
    merged = Consolidated() if settings.consolidate else None
    async with AsyncExitStack() as opened:
        databases = await opened.enter_async_context(open_databases(settings, leased=True))
        merging = await opened.enter_async_context(consolidating(settings, rate_limiter)) if merged else None

        async def work(database: Database) -> Sequence[str]:
            unmerged = None if merging is None or merged is None else await _merge(merging, database, merged)
            job = Prune(
                database,
                audit_days=settings.audit_days,
                episode_days=settings.episode_days,
                act_days=settings.act_days,
                rate_limiter=rate_limiter,
                report=_tell,
                objects=objects,
            )
            pruned.update(asdict(await job.run()))
            return [] if unmerged is None else [f"Memories were not merged: {unmerged.detail}"]

        failed = await each_shard(databases, work)
    return Pruned(**{field_.name: pruned[field_.name] for field_ in fields(Pruned)}), merged, failed


async def _merge(merging: ConsolidateShard, database: Database, merged: Consolidated) -> MemoryGatewayError | None:
    """Merge what a shard holds, unless another process is at it; return why it could not be done."""
    try:
        merged.sum_up(await merging(database))
    except Conflict as error:
        click.echo(f"... {error.detail}", err=True)
    except MemoryGatewayError as error:
        return error
    return None


def _tell(pruned: int) -> None:
    click.echo(f"... {pruned} deleted", err=True)
