"""The command that deletes expired memories."""

import click

from app.bootstrap import open_database
from app.indexing.jobs.prune import Prune
from app.indexing.rate_limiter import RateLimiter
from app.interfaces.cli.parameters import as_json_option, print_answer, quiet_settings, run
from app.interfaces.cli.reconcile import rate_option
from app.runtime.maintenance import UNMETERED


@click.command()
@rate_option
@as_json_option
def prune(*, calls_per_minute: float, as_json: bool) -> None:
    """Delete the memories that have expired, of all tenants. Fit for cron; safe beside running servers."""
    pruned = run(_prune(calls_per_minute))
    print_answer({"pruned": pruned}, f"{pruned} expired memories deleted.", as_json)


async def _prune(calls_per_minute: float) -> int:
    settings = quiet_settings()
    database, close = open_database(settings)
    try:
        rate_limiter = RateLimiter(calls_per_minute if settings.on_cloudflare else UNMETERED)
        return await Prune(database, rate_limiter=rate_limiter, report=_tell).run()
    finally:
        await close()


def _tell(pruned: int) -> None:
    click.echo(f"... {pruned} deleted", err=True)
