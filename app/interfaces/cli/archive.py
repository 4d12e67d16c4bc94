"""The commands for the archive: ``list``, ``get`` and ``restore``."""

from contextlib import closing
from dataclasses import asdict
from typing import Any

import click

from app.domain.author import Author
from app.domain.moments import format_moment
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    CommandAnswer,
    Id,
    Moment,
    indexing,
    on_tenant,
    run,
    tenant_option,
    with_runtime,
)
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.cli.transfer import PATIENCE_SECONDS, imported
from app.interfaces.text import json_text
from app.runtime.runtime import Runtime
from app.services.archive.reading import RESTORED_DAYS, Archives
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.storage.archive import KINDS, ArchivedObject


@click.group(cls=CommandGroup)
def archive() -> None:
    """List, read and restore what was archived because it is old.

    ARCHIVE_DAYS has the service move what is older into the object store, where no recall finds it.
    """


@archive.command("list")
@tenant_option
@click.option("--agent", type=Id(), help="Show what is of this agent alone.")
@click.option("--kind", type=click.Choice(KINDS), help="Show what is of this kind alone.")
@click.option("--since", type=Moment(), help="Show what has items of this time or later.")
@click.option("--until", type=Moment(), help="Show what has items of this time or earlier.")
@click.option("--before", help="Go on behind the object of this id.")
@click.option(
    "--most", type=click.IntRange(1, 100), default=100, show_default=True, help="Show at most so many objects."
)
@on_tenant
async def list_objects(
    runtime: Runtime,
    tenant: str,
    agent: str | None,
    kind: str | None,
    since: int | None,
    until: int | None,
    before: str | None,
    most: int,
) -> CommandAnswer:
    """Show the objects of a tenant's archive, newest first."""
    archives = Archives(runtime.backends.of_tenant(tenant))
    objects = await archives.list(agent_id=agent, kind=kind, since=since, until=until, before=before, limit=most)
    lines = "\n".join(map(_line, objects)) or "Nothing is archived."
    return CommandAnswer({"objects": [_fields(archived) for archived in objects]}, lines)


@archive.command()
@administers("archive.read")
@click.argument("item_id")
@tenant_option
def get(item_id: str, tenant: str) -> None:
    """Print the archived memory, episode or run ITEM_ID.

    It is JSON, as a line of an export has it.
    """

    async def work(runtime: Runtime) -> tuple[ArchivedObject, dict[str, Any]]:
        return await Archives(runtime.backends.of_tenant(tenant)).item(item_id)

    archived, item = run(with_runtime(work, tenant))
    click.echo(json_text({"object": archived.id, "item": item}, spaced=True))


@archive.command()
@administers("archive.restore")
@click.argument("object_id")
@tenant_option
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=RESTORED_DAYS,
    show_default=True,
    help="Keep the items out of the archive for so many days.",
)
@on_tenant
async def restore(runtime: Runtime, object_id: str, tenant: str, days: int) -> CommandAnswer:
    """Store the items of the object OBJECT_ID again, as an import does.

    Once all of them are there the object is let go.
    """
    with closing(ImportReport()) as report:
        archives = Archives(runtime.backends.of_tenant(tenant, Author(channel="import")))
        archived = await archives.one(object_id)
        async with indexing(runtime):
            await archives.restore(archived, report, days=days, retry_budget=RetryBudget(PATIENCE_SECONDS))
        return imported(report)


def _line(archived: ArchivedObject) -> str:
    first, last = format_moment(archived.first_at), format_moment(archived.last_at)
    return f"{archived.id}  {archived.agent_id}  {archived.items} {archived.kind}, {first} to {last}"


def _fields(archived: ArchivedObject) -> dict[str, Any]:
    moments = ("first_at", "last_at", "archived_at")
    return asdict(archived) | {name: format_moment(getattr(archived, name)) for name in moments}
