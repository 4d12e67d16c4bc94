"""The commands for administrative acts: ``list``, ``export`` and ``verify``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

import click

from app.bootstrap import build_credentials, open_for_act
from app.domain import limits
from app.domain.acts import DEPLOYMENT, PURPOSE, Act, ActFilter
from app.domain.errors import SchemaTooOld
from app.domain.moments import format_moment
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    Bounded,
    CommandAnswer,
    Moment,
    prints_answer,
    quiet_settings,
    run,
    tenant_option,
)
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.cli.transfer import written
from app.services.access.acts import Acts, fields_of
from app.settings import Settings

_PAGE = 100
deployment_option = click.option(
    "--deployment", is_flag=True, help="Take what concerns all tenants, such as a prune, in place of a tenant."
)


@click.group(cls=CommandGroup)
def acts() -> None:
    """Show, export and check administrative acts.

    What administrators and operators do has a row, which was written before it was done, and attempts that were refused
    are counted. No erasure touches them.
    """


@acts.command("list")
@tenant_option
@deployment_option
@click.option("--act", type=Bounded(limits.ACT, "name"), help="Show only acts of this name, such as agent.erase.")
@click.option("--credential", type=Bounded(limits.CREDENTIAL_ID, "id"), help="Show only acts of this credential.")
@click.option(
    "--outcome", type=click.Choice(["begun", "done", "failed", "refused"]), help="Show only what has ended so."
)
@click.option("--after", type=Moment(), help="Show only what began later than this (RFC 3339).")
@click.option("--before", type=Moment(up=True), help="Show only what began earlier than this (RFC 3339).")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Show at most this many.")
@prints_answer
async def list_acts(
    tenant: str,
    act: str | None,
    credential: str | None,
    outcome: str | None,
    after: int | None,
    before: int | None,
    limit: int,
    *,
    deployment: bool,
) -> CommandAnswer:
    """Show acts, newest first."""
    where, found, position = ActFilter(act, credential, outcome, after, before), list[Act](), None
    async with _opened(quiet_settings(), DEPLOYMENT if deployment else tenant) as kept:
        while len(found) < limit:
            page = await kept.list(where, limit=min(_PAGE, limit - len(found)), after=position)
            found, position = [*found, *page.items], page.after
            if position is None:
                break
    lines = "\n".join(map(_line, found)) or "nothing found"
    more = () if position is None else (f"There are more than these {limit}: a higher --limit shows them.",)
    return CommandAnswer({"acts": [fields_of(act) for act in found]}, lines, more)


@acts.command()
@tenant_option
@deployment_option
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, once all is there."
)
@administers("acts.export")
def export(tenant: str, output: Path | None, *, deployment: bool) -> None:
    """Write all acts as lines of JSON, oldest first.

    Without --output they go to standard output. Keep them where nobody can change them.
    """
    settings = quiet_settings()
    with written(output) as file:

        async def work() -> None:
            async with _opened(settings, DEPLOYMENT if deployment else tenant) as kept:
                async for lines in kept.lines():
                    file.write(lines)

        run(work())


@acts.command()
@tenant_option
@deployment_option
@prints_answer
async def verify(tenant: str, *, deployment: bool) -> CommandAnswer:
    """Check that no row of an act was changed or is missing.

    Who has a secret of the service can write rows that pass, and newest rows that are missing are not found: keep
    exports elsewhere for that.
    """
    settings = quiet_settings()
    async with _opened(settings, DEPLOYMENT if deployment else tenant) as kept:
        verdict = await kept.verify(build_credentials(settings).keys(PURPOSE))
    begin = "" if verdict.first in {None, 1} else f" The oldest is number {verdict.first}: older ones were pruned."
    text = f"{verdict.acts} rows, {verdict.unended} of acts that have not ended.{begin}"
    flaws = "\n".join([f"{verdict.flaws} flaws:", *verdict.examples]) if verdict.flaws else "All are as written."
    return CommandAnswer(asdict(verdict), f"{text}\n{flaws}", failed=bool(verdict.flaws))


@asynccontextmanager
async def _opened(settings: Settings, tenant_id: str) -> AsyncIterator[Acts]:
    async with open_for_act(settings, tenant_id) as statements:
        if statements is None:
            raise SchemaTooOld("There is no table of acts yet. Run: memory-gateway migrate")
        yield Acts(tenant_id, statements)


def _line(act: Act) -> str:
    who = act.credential_id or act.operator or "unknown"
    subject = ", ".join(f"{name} {'(not an id)' if id_ is None else id_}" for name, id_ in act.subject.items())
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in act.counts.items())
    times = f"{act.attempts} times" if act.attempts > 1 else ""
    parts = (act.outcome, act.code or "", times, subject, counts)
    return f"{format_moment(act.begun_at)}  {act.act:<18}  {who:<26}  {'; '.join(part for part in parts if part)}"
