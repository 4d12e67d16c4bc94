"""The commands for shards: ``add``, ``list`` and ``move``."""

import click

from app.adapters.cloudflare.account import Placement
from app.bootstrap import make_shard
from app.domain import limits
from app.domain.errors import ConfigurationError
from app.domain.shards import MAIN, TenantMove
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    CommandAnswer,
    Id,
    jurisdiction_option,
    location_option,
    poll_option,
    prints_answer,
    quiet_settings,
    with_shards,
)
from app.interfaces.cli.sections import CommandGroup
from app.runtime.fullness import ShardFigures
from app.runtime.moving import move_tenant
from app.runtime.shards import Shards


@click.group(cls=CommandGroup)
def shard() -> None:
    """Spread tenants over several databases: add, list, move."""


@shard.command()
@click.argument("name")
@click.option("--database-id", help="Use this D1 database; without, one is created. Embedded, a shard is a file.")
@location_option
@jurisdiction_option
@poll_option
@administers("shard.add")
@prints_answer
async def add(
    name: str, database_id: str | None, location: str | None, jurisdiction: str | None, poll_seconds: float
) -> CommandAnswer:
    """Add the shard NAME with a database and an index.

    Tenants that are new a minute later live where most room is. It is safe to run again after a failure. Where a
    jurisdiction binds the first database, it binds this one too.
    """
    if database_id is not None and (location or jurisdiction):
        raise click.UsageError("A database that is there stays where it is: leave --location and --jurisdiction out.")
    placement = Placement(location, jurisdiction)
    settings = quiet_settings()

    async def work(shards: Shards) -> str | None:
        await shards.check_new(name, database_id)
        if settings.on_cloudflare and settings.cloudflare_d1_database_id == database_id:
            raise ConfigurationError(f"The shard {MAIN} has the database {database_id}.")
        made = await make_shard(settings, name, database_id, _tell, poll_seconds=poll_seconds, placement=placement)
        await shards.add(name, made)
        return made

    made = await with_shards(settings, work)
    text = f"Added {name}. Tenants can be moved to it, and new ones placed there, in a minute."
    return CommandAnswer({"added": {"name": name, "database_id": made}}, text)


@shard.command()
@click.argument("tenant", type=Id())
@click.argument("name")
@poll_option
@click.option(
    "--linger-seconds",
    type=click.FloatRange(min=0),
    default=40.0,
    show_default=True,
    help="Leave the old rows for so long: servers write what they note of recalls every 30 seconds.",
)
@administers("tenant.move")
@prints_answer
async def move(tenant: str, name: str, poll_seconds: float, linger_seconds: float) -> CommandAnswer:
    """Move TENANT to the shard NAME while it is served.

    After a failure the same command goes on; with the name of the old shard the move is given up. The tenant's requests
    write nothing for a moment near the end, and are told to try again.
    """

    async def work(shards: Shards) -> str | None:
        return await move_tenant(shards, tenant, name, _tell, poll_seconds=poll_seconds, linger_seconds=linger_seconds)

    given_up = await with_shards(quiet_settings(), work)
    if given_up is None:
        return CommandAnswer({"moved": {"tenant": tenant, "shard": name}}, f"{tenant} lives in {name} now.")
    text = f"The move to {given_up} was given up. {tenant} stays in {name}."
    return CommandAnswer({"given_up": {"tenant": tenant, "shard": name, "target": given_up}}, text)


@shard.command(name="list")
@prints_answer
async def list_shards() -> CommandAnswer:
    """List the shards, how full each is, and moves under way."""

    async def work(shards: Shards) -> tuple[list[ShardFigures], list[TenantMove], list[str]]:
        measured = await shards.fullness.measure()
        return measured, shards.fullness.moves, shards.fullness.unmeasured

    figures, moves, unmeasured = await with_shards(quiet_settings(), work, every=True)
    rows = [
        {
            "name": shard_figures.name,
            "bytes": shard_figures.stored_bytes,
            "vectors": shard_figures.vectors,
            "tenants": shard_figures.tenants,
            "warning": shard_figures.warning,
        }
        for shard_figures in figures
    ]
    under_way = [
        {
            "tenant": move.tenant_id,
            "source": move.source,
            "target": move.target,
            "phase": move.phase,
            "idle_seconds": move.idle_ms // 1000,
        }
        for move in moves
    ]
    lines = [
        *(_line(shard_figures, alone=len(figures) + len(unmeasured) == 1) for shard_figures in figures),
        *(f"{name} cannot be used, and was not measured. See: memory-gateway doctor" for name in unmeasured),
        *map(_move_line, moves),
    ]
    return CommandAnswer({"shards": rows, "unmeasured": unmeasured, "moves": under_way}, "\n".join(lines))


def _line(figures: ShardFigures, *, alone: bool) -> str:
    size = f"{figures.stored_bytes / 1e6:.1f} MB"
    vectors = f"{figures.vectors} {'vector' if figures.vectors == 1 else 'vectors'}"
    if figures.limited:
        size += f" ({figures.stored_bytes / limits.SHARD_BYTES:.1%} of D1's 10 GB)"
        vectors += f" ({figures.vectors / limits.SHARD_VECTORS:.1%} of Vectorize's 20 million)"
    line = f"{figures.name} holds {size} and {vectors}. {_tenants(figures, alone=alone)}"
    return line if figures.warning is None else f"{line}\n  {figures.warning}"


def _tenants(figures: ShardFigures, *, alone: bool) -> str:
    """Say which tenants live there; those that were there before a second shard have no place in the directory."""
    if alone:
        return "All tenants live in it."
    count = f"{figures.tenants} {'tenant' if figures.tenants == 1 else 'tenants'}"
    if figures.name != MAIN:
        return f"It has {count}."
    return f"It has {count} that came after the first shard was added, and all that are older and were not moved."


def _move_line(move: TenantMove) -> str:
    command = f"memory-gateway shard move {move.tenant_id}"
    idle = f"A command last worked on the move {_ago(move.idle_ms // 60_000)}."
    go_on = f"  If none does now, go on with: {command} {move.target}"
    if move.phase == "drop":
        doing = f"{move.tenant_id} lives in {move.target}; its old rows in {move.source} are still to be deleted."
        return f"{doing} {idle}\n{go_on}"
    doing = f"{move.tenant_id} lives in {move.source} and is to move to {move.target}."
    return f"{doing} {idle}\n{go_on}\n  Or give the move up with: {command} {move.source}"


def _ago(minutes: int) -> str:
    if minutes < 1:
        return "less than a minute ago"
    return "a minute ago" if minutes == 1 else f"{minutes} minutes ago"


def _tell(line: str) -> None:
    click.echo(f"... {line}", err=True)
