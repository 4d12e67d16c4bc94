"""The commands for canaries: ``plant``, ``probe`` and ``remove``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import click

from app.bootstrap import build_shards
from app.domain.errors import MemoryGatewayError
from app.interfaces.asgi import create_app
from app.interfaces.canaries.prober import ProbeReport, distinct
from app.interfaces.canaries.rounds import CanaryRounds, client_of
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import CommandAnswer, prints_answer, quiet_settings
from app.interfaces.cli.sections import CommandGroup

_url_option = click.option("--url", help="Ask the service at this address, not one that is made in this process.")


@click.group(cls=CommandGroup)
def canary() -> None:
    """Plant canaries in every tenant, and ask for them as all others.

    A canary is a memory, a fact, a run and working memory with a random token, in an agent of its own of each tenant.
    CANARY_MINUTES has the service do this by itself.
    """


@canary.command()
@_url_option
@administers("canary.plant")
@prints_answer
async def plant(url: str | None) -> CommandAnswer:
    """Plant a canary in each tenant that has memories.

    What is there stays, and what has expired of it is planted again.
    """
    async with _rounds(url) as rounds:
        planted, failures = await rounds.plant()
    return CommandAnswer(
        {"planted": planted, "failures": failures}, f"{planted} tenants have a canary.", failures, failed=bool(failures)
    )


@canary.command()
@_url_option
@click.option(
    "--probes", type=click.IntRange(1), default=100_000, show_default=True, help="Make so many requests at most."
)
@prints_answer
async def probe(url: str | None, probes: int) -> CommandAnswer:
    """Ask as every tenant for the canaries of the others.

    The exit code is 1 where one was shown, where a request was not answered, or where a scope does not find its own.
    """
    async with _rounds(url) as rounds:
        report = await rounds.probe(probes)
    data = asdict(report) | {"leaks": [asdict(leak) for leak in distinct(report.leaks)], "passed": report.passed}
    return CommandAnswer(data, _told(report), failed=not report.passed)


@canary.command()
@_url_option
@click.option("--yes", is_flag=True, help="Do it; without this, nothing is changed.")
@administers("canary.remove", unless=lambda given: not given["yes"])
@prints_answer
async def remove(url: str | None, *, yes: bool) -> CommandAnswer:
    """Erase the canaries of all tenants."""
    if not yes:
        raise click.UsageError("The canaries of all tenants are erased. Add --yes to do it.")
    async with _rounds(url) as rounds:
        removed, failures = await rounds.remove()
    text = f"The canaries of {removed} tenants are erased."
    return CommandAnswer({"removed": removed, "failures": failures}, text, failures, failed=bool(failures))


@asynccontextmanager
async def _rounds(url: str | None) -> AsyncIterator[CanaryRounds]:
    """Open the shards, and the application over them unless a service is asked at its address."""
    shards = build_shards(quiet_settings(), command=True)
    app, failure = None, None
    try:
        await shards.prepare()
        app = create_app(shards)
        async with app.router.lifespan_context(app), client_of(app, url) as client:
            try:
                yield CanaryRounds(shards, client)
            except MemoryGatewayError as error:  # the application's tasks would put it into a group
                failure = error
    finally:
        if app is None:  # the application closes them
            await shards.close()
    if failure is not None:
        raise failure


def _told(report: ProbeReport) -> str:
    lines = [f"{report.probes} probes as {report.tenants} tenants: {len(report.leaks)} leaks."]
    if report.cut:
        lines.append("The round ended before all tenants were asked as.")
    lines += [
        f"LEAK  {leak.route} showed {leak.asked_as} the canary of {leak.canary_of}" for leak in distinct(report.leaks)
    ]
    lines += [f"unanswered  {what}" for what in report.unanswered]
    lines += [f"blind  {scope} is not shown its own canary" for scope in report.blind]
    return "\n".join(lines)
