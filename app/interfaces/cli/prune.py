"""The command that deletes what has expired or is too old."""

from dataclasses import asdict

import click

from app.bootstrap import open_database
from app.indexing.jobs.prune import Prune, Pruned
from app.indexing.rate_limiter import RateLimiter
from app.interfaces.cli.parameters import as_json_option, print_answer, quiet_settings, run
from app.interfaces.cli.reconcile import rate_option
from app.runtime.maintenance import UNMETERED


@click.command()
@rate_option
@as_json_option
def prune(*, calls_per_minute: float, as_json: bool) -> None:
    """Delete what has expired or is too old, of all tenants.

    These are expired memories, and old audit rows, receipts, ingestions, counts of model calls and idempotency keys. It
    is made for cron, and safe beside running servers.
    """
    pruned = run(_prune(calls_per_minute))
    said = (
        f"{pruned.memories} expired memories deleted.\n"
        f"Too old: {pruned.idempotency_keys} idempotency keys, {pruned.audit_rows} audit rows, {pruned.receipts} "
        f"receipts, {pruned.ingestions} ingestions, {pruned.model_spend} counts of model calls, {pruned.episodes} "
        f"episodes and {pruned.runs} runs deleted."
    )
    others = {name: count for name, count in asdict(pruned).items() if name != "memories"}
    print_answer({"pruned": pruned.memories} | others, said, as_json)


async def _prune(calls_per_minute: float) -> Pruned:
    settings = quiet_settings()
    database, close = open_database(settings)
    try:
        rate_limiter = RateLimiter(calls_per_minute if settings.on_cloudflare else UNMETERED)
        job = Prune(
            database,
            audit_days=settings.audit_days,
            episode_days=settings.episode_days,
            rate_limiter=rate_limiter,
            report=_tell,
        )
        return await job.run()
    finally:
        await close()


def _tell(pruned: int) -> None:
    click.echo(f"... {pruned} deleted", err=True)
