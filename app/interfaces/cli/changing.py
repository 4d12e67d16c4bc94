"""Commands that change a memory, and that delete memories by a filter."""

from typing import Any

import click

from app.domain import limits
from app.domain.query import Filter
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    Bounded,
    CommandAnswer,
    JsonObject,
    Moment,
    agent_option,
    on_tenant,
    tenant_option,
)
from app.interfaces.http.schemas.memory import MemoryAnswer
from app.interfaces.text import json_text, visible
from app.runtime.runtime import Runtime
from app.services.memories.changing import MemoryChange


@click.command()
@click.argument("memory_id", metavar="ID", type=Bounded(limits.MEMORY_ID))
@tenant_option
@agent_option
@click.option("--metadata", type=JsonObject(limits.METADATA), help="Set these keys; one with null is taken away.")
@click.option("--expires-at", type=Moment(), help="Forget it at this moment (RFC 3339).")
@click.option("--never-expires", is_flag=True, help="Keep it for good.")
@click.option("--occurred-at", type=Moment(), help="Say when it happened (RFC 3339).")
@administers("memory.change")
@on_tenant
async def change(
    runtime: Runtime,
    memory_id: str,
    tenant: str,
    agent: str,
    metadata: dict[str, Any] | None,
    expires_at: int | None,
    occurred_at: int | None,
    *,
    never_expires: bool,
) -> CommandAnswer:
    """Change the metadata, the end or the moment of the memory ID.

    Its content is corrected by storing what holds now.
    """
    if never_expires and expires_at is not None:
        raise click.UsageError("Choose one of --expires-at and --never-expires.")
    wanted: MemoryChange = {}
    if metadata is not None:
        wanted["metadata"] = metadata
    if never_expires or expires_at is not None:
        wanted["expires_at"] = expires_at
    if occurred_at is not None:
        wanted["occurred_at"] = occurred_at
    if not wanted:
        raise click.UsageError("Name something to change: --metadata, --expires-at, --never-expires or --occurred-at.")
    changed = await runtime.services(tenant).changes.change(agent, memory_id, wanted)
    answer = MemoryAnswer.model_validate(changed).model_dump(exclude_none=True)
    told = {name: answer.get(name) for name in wanted}
    return CommandAnswer(answer, f"changed {memory_id}: {visible(json_text(told))}", spaced=False)


@click.command("purge")
@tenant_option
@agent_option
@click.option("--created-after", type=Moment(), help="Only what was stored later than this (RFC 3339).")
@click.option("--created-before", type=Moment(up=True), help="Only what was stored earlier than this (RFC 3339).")
@click.option(
    "--metadata",
    type=JsonObject(limits.FILTER_METADATA),
    default="{}",
    help="Only what has each key of this JSON object, with an equal value.",
)
@click.option("--written-by", type=Bounded(limits.CREDENTIAL_ID, "id"), help="Only what this credential has written.")
@click.option("--confirm", type=click.IntRange(min=0), help="Delete them, if they are as many; else they are counted.")
@administers("memories.delete", unless=lambda given: given["confirm"] is None)
@on_tenant
async def purge(
    runtime: Runtime,
    tenant: str,
    agent: str,
    created_after: int | None,
    created_before: int | None,
    metadata: dict[str, Any],
    written_by: str | None,
    confirm: int | None,
) -> CommandAnswer:
    """Count the memories that pass a filter, or delete them.

    Without --confirm they are only counted. With it they are deleted, if their number is the one that is given.
    """
    where, deletions = Filter(created_after, created_before, metadata), runtime.services(tenant).filtered_deletions
    if confirm is None:
        forecast = await deletions.forecast(agent, where, written_by)
        count = f"at least {forecast.memories}" if forecast.at_least else str(forecast.memories)
        lines = [f"{count} memories of {agent} would be deleted.", *forecast.memory_ids]
        lines += [f"Delete them with --confirm {forecast.memories}."] if forecast.memories else []
        answer = {"dry_run": True, "memories": forecast.memories, "memory_ids": [*forecast.memory_ids]}
        return CommandAnswer(answer | {"at_least": forecast.at_least}, "\n".join(lines))
    deleted, left = 0, confirm
    while left or not deleted:
        done = await deletions.delete(agent, where, written_by, confirm=left)
        deleted, left = deleted + done.memories, done.left
        if not done.memories:
            break
    return CommandAnswer({"dry_run": False, "memories": deleted, "left": left}, f"deleted {deleted}, {left} are left")
