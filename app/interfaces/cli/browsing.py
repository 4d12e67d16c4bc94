"""Commands that list memories, show one and delete one."""

from typing import Any

import click

from app.domain import limits
from app.domain.errors import NotFound
from app.domain.memory import Memory
from app.domain.moments import format_moment
from app.domain.query import Filter
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import (
    Bounded,
    CommandAnswer,
    JsonObject,
    Moment,
    agent_option,
    on_tenant,
    run,
    tenant_option,
    with_runtime,
)
from app.interfaces.http.schemas.memory import MemoryAnswer
from app.interfaces.text import json_text, one_line, visible
from app.runtime.runtime import Runtime

_PAGE = 100
_SHOWN = 120
"""Characters of a memory that a line of the list shows."""

_id_argument = click.argument("memory_id", metavar="ID", type=Bounded(limits.MEMORY_ID))


@click.command("list")
@tenant_option
@agent_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Print at most this many.")
@click.option("--created-after", type=Moment(), help="List only what was stored later than this (RFC 3339).")
@click.option("--created-before", type=Moment(up=True), help="List only what was stored earlier than this (RFC 3339).")
@click.option(
    "--metadata",
    type=JsonObject(limits.FILTER_METADATA),
    default="{}",
    help="List only what has each key of this JSON object, with an equal value.",
)
@click.option(
    "--written-by",
    type=Bounded(limits.CREDENTIAL_ID, "id"),
    help="List only what the credential with this id has written.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each memory.")
def list_memories(
    tenant: str,
    agent: str,
    limit: int,
    created_after: int | None,
    created_before: int | None,
    metadata: dict[str, Any],
    written_by: str | None,
    *,
    as_json: bool,
) -> None:
    """List an agent's memories, newest first.

    Each line shows the id, the time and the beginning of a memory; memory-gateway get shows all of it.
    """
    where = Filter(created_after, created_before, metadata)

    async def work(runtime: Runtime) -> tuple[int, bool]:
        browser, after, shown = runtime.services(tenant).browser, None, 0
        while True:
            most = min(_PAGE, limit - shown)
            page = await browser.list(agent, where, limit=most, after=after, written_by=written_by)
            for memory in page.items:
                click.echo(json_text(_as_json(memory)) if as_json else _line(memory))
            after, shown = page.after, shown + len(page.items)
            if after is None or shown == limit:
                return shown, after is not None

    shown, more = run(with_runtime(work, tenant))
    if not shown:
        click.echo("nothing found", err=as_json)
    if more:
        click.echo(f"There are more than these {shown}: a higher --limit shows them.", err=True)


@click.command()
@_id_argument
@tenant_option
@agent_option
@on_tenant
async def get(runtime: Runtime, memory_id: str, tenant: str, agent: str) -> CommandAnswer:
    """Print the memory ID with everything that was stored of it."""
    memory = await _one(runtime, memory_id, tenant, agent)
    return CommandAnswer(_as_json(memory), _text(memory), spaced=False)


@click.command()
@_id_argument
@tenant_option
@agent_option
@administers("memory.delete")
@on_tenant
async def delete(runtime: Runtime, memory_id: str, tenant: str, agent: str) -> CommandAnswer:
    """Delete the memory ID for good."""
    await _one(runtime, memory_id, tenant, agent)  # the gateway does not tell a mistyped id from a deleted memory
    await runtime.services(tenant).gateway.delete(agent, memory_id)
    return CommandAnswer({"deleted": True, "id": memory_id}, f"deleted {memory_id}", spaced=False)


async def _one(runtime: Runtime, memory_id: str, tenant: str, agent: str) -> Memory:
    """Read a memory; an error that there is none says where to look for it."""
    try:
        return await runtime.services(tenant).browser.get(agent, memory_id)
    except NotFound as error:
        raise NotFound(
            f"The agent {agent} of the tenant {tenant} has no memory {memory_id}: "
            f"memory-gateway list --tenant {tenant} --agent {agent} shows those it has."
        ) from error


def _line(memory: Memory) -> str:
    return f"{memory.id}  {format_moment(memory.created_at)}  {one_line(memory.content, _SHOWN)}"


def _text(memory: Memory) -> str:
    """Write all of a memory, a field a line and its content below them."""
    fields = {
        name.replace("_", " "): value if isinstance(value, str) else json_text(value)
        for name, value in _as_json(memory).items()
        if name != "content"
    }
    lines = [f"{name:<11} {one_line(value)}" for name, value in fields.items()]
    return "\n".join([*lines, "", visible(memory.content)])


def _as_json(memory: Memory) -> dict[str, Any]:
    """Return a memory as ``GET /memories/{id}`` has it, who wrote it last: what it lacks is left out."""
    answer, written = MemoryAnswer.model_validate(memory), {"source", "later_keys"}
    return answer.model_dump(exclude_none=True, exclude=written) | answer.model_dump(exclude_none=True, include=written)
