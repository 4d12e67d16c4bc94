"""Commands over quotas: what a tenant or an agent may hold and store."""

from collections.abc import Callable, Mapping
from dataclasses import asdict

import click

from app.bootstrap import open_tenant_database
from app.domain.quotas import UNLIMITED, LimitName, Limits, Usage
from app.interfaces.cli.acting import administers, note_counts
from app.interfaces.cli.parameters import DEFAULT, CommandAnswer, Id, prints_answer, quiet_settings
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.cli.usage import counts_text
from app.ports.database import Statement
from app.storage.quotas import Quotas, row_counts, usages

_DEFAULT = -1


class LimitParam(click.ParamType[int]):
    """A limit: a number, ``unlimited``, or ``default`` for what the settings say."""

    name = "limit"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        words = {"unlimited": UNLIMITED, "default": _DEFAULT}
        if value in words:
            return words[value]
        if not (value.isascii() and value.isdigit() and int(value[:20]) < UNLIMITED):
            self.fail("write a number from 0, unlimited or default", param, ctx)
        return int(value)


_tenant = click.option("--tenant", type=Id(), default=DEFAULT, show_default=True, help="Use the limits of this tenant.")
_agent = click.option("--agent", type=Id(), help="Use those of this agent; without it, those of the tenant as a whole.")


@click.group(cls=CommandGroup)
def quota() -> None:
    """Show and set what a tenant or an agent may hold and store."""


@quota.command()
@_tenant
@_agent
@prints_answer
async def show(tenant: str, agent: str | None) -> CommandAnswer:
    """Show the limits that hold, and how much of them is used."""
    return await _change(tenant, agent)


@quota.command("set")
@_tenant
@_agent
@click.option("--memories", type=LimitParam(), help="Limit the memories it may hold: a number, unlimited or default.")
@click.option("--bytes", "bytes_", type=LimitParam(), help="Limit the bytes of all memory tiers it may hold.")
@click.option(
    "--stores-per-minute", type=LimitParam(), help="Limit the writes to any memory tier it may make in a minute."
)
@administers("quota.set")
@prints_answer
async def set_limits(
    tenant: str, agent: str | None, memories: int | None, bytes_: int | None, stores_per_minute: int | None
) -> CommandAnswer:
    """Set limits; those that are not named stay as they are.

    They hold from the next store on, on every server.
    """
    named: dict[LimitName, int | None] = {
        "memories": memories,
        "bytes": bytes_,
        "stores_per_minute": stores_per_minute,
    }
    chosen = {name: None if limit == _DEFAULT else limit for name, limit in named.items() if limit is not None}
    if not chosen:
        raise click.UsageError("Name a limit: --memories, --bytes or --stores-per-minute.")
    note_counts(dict(chosen.items()))
    return await _change(tenant, agent, lambda quotas: quotas.set(agent, chosen))


@quota.command()
@_tenant
@_agent
@administers("quota.clear")
@prints_answer
async def clear(tenant: str, agent: str | None) -> CommandAnswer:
    """Let the settings' defaults hold again."""
    return await _change(tenant, agent, lambda quotas: quotas.clear(agent))


async def _change(tenant: str, agent: str | None, change: Callable[[Quotas], Statement] | None = None) -> CommandAnswer:
    """Make a change, then answer with the usage, its limits, the defaults, and of a tenant what else is kept."""
    settings = quiet_settings()
    quotas = Quotas(tenant, settings.quota_defaults)
    database, close = await open_tenant_database(settings, tenant)
    try:
        changes = [] if change is None else [change(quotas)]
        *_, rows, (beside,) = await database.run([*changes, quotas.read(agent), quotas.row_counts()])
    finally:
        await close()
    of_agent = agent is not None
    defaults = settings.quota_defaults.agent if of_agent else settings.quota_defaults.tenant
    return _answer(usages(rows)[0], defaults, {} if of_agent else row_counts(beside).counts)


def _answer(usage: Usage, defaults: Limits, rows: Mapping[str, int]) -> CommandAnswer:
    used = {"memories": usage.memories, "bytes": usage.bytes, "stores_per_minute": usage.stores_this_minute}
    limits, usual = asdict(usage.limits), asdict(defaults)
    lines = [
        f"{name.replace('_', ' '):<18} {used[name]} of {'unlimited' if limit is None else limit}"
        + (" (default)" if limit == usual[name] else "")
        for name, limit in limits.items()
    ]
    lines += [counts_text(rows)] if rows else []
    answer = {"used": used, "limits": limits, "defaults": usual} | ({"kept": rows} if rows else {})
    return CommandAnswer(answer, "\n".join(lines))
