"""Commands over quotas: what a tenant or an agent may hold and store."""

from dataclasses import asdict
from typing import TypeAlias

import click

from app.bootstrap import open_tenant_database
from app.domain.quotas import UNLIMITED, LimitName, Limits, RowCounts, Usage
from app.interfaces.cli.parameters import DEFAULT, Id, as_json_option, print_answer, quiet_settings, run
from app.interfaces.cli.sections import CommandGroup
from app.ports.database import Statement
from app.storage import kept
from app.storage.quotas import Quotas, usages

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
@as_json_option
def show(tenant: str, agent: str | None, *, as_json: bool) -> None:
    """Show the limits that hold, and how much of them is used."""
    _print(run(_read(tenant, agent)), as_json=as_json)


@quota.command("set")
@_tenant
@_agent
@click.option("--memories", type=LimitParam(), help="Limit the memories it may hold: a number, unlimited or default.")
@click.option("--bytes", "bytes_", type=LimitParam(), help="Limit the bytes of all memory tiers it may hold.")
@click.option(
    "--stores-per-minute", type=LimitParam(), help="Limit the writes to any memory tier it may make in a minute."
)
@as_json_option
def set_limits(
    tenant: str,
    agent: str | None,
    memories: int | None,
    bytes_: int | None,
    stores_per_minute: int | None,
    *,
    as_json: bool,
) -> None:
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
    _print(run(_change(tenant, agent, chosen)), as_json=as_json)


@quota.command()
@_tenant
@_agent
@as_json_option
def clear(tenant: str, agent: str | None, *, as_json: bool) -> None:
    """Let the settings' defaults hold again."""
    _print(run(_change(tenant, agent, None)), as_json=as_json)


_Found: TypeAlias = tuple[Usage, Limits, RowCounts | None]


async def _read(tenant: str, agent: str | None, *changes: Statement) -> _Found:
    """Make changes, then return the usage, its limits in force, the defaults, and of a tenant what else is kept."""
    settings = quiet_settings()
    defaults = settings.quota_defaults
    database, close = await open_tenant_database(settings, tenant)
    try:
        *_, rows, (beside,) = await database.run([*changes, Quotas(tenant, defaults).read(agent), kept.read(tenant)])
        if agent is not None:
            return usages(rows)[0], defaults.agent, None
        return usages(rows)[0], defaults.tenant, kept.kept(beside)
    finally:
        await close()


async def _change(tenant: str, agent: str | None, chosen: dict[LimitName, int | None] | None) -> _Found:
    quotas = Quotas(tenant, quiet_settings().quota_defaults)
    return await _read(tenant, agent, quotas.clear(agent) if chosen is None else quotas.set(agent, chosen))


def _print(found: _Found, *, as_json: bool) -> None:
    usage, defaults, beside = found
    rows = {} if beside is None else beside.counts
    used = {"memories": usage.memories, "bytes": usage.bytes, "stores_per_minute": usage.stores_this_minute}
    limits, usual = asdict(usage.limits), asdict(defaults)
    lines = [
        f"{name.replace('_', ' '):<18} {used[name]} of {'unlimited' if limit is None else limit}"
        + (" (default)" if limit == usual[name] else "")
        for name, limit in limits.items()
    ]
    lines += [f"{name.replace('_', ' '):<18} {count}" for name, count in rows.items()]
    answer = {"used": used, "limits": limits, "defaults": usual} | ({"kept": rows} if rows else {})
    print_answer(answer, "\n".join(lines), as_json)
