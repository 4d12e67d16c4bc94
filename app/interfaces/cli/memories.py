"""Commands that store and recall memories."""

import sys
from collections.abc import Awaitable
from typing import Any

import click
from pydantic import ValidationError

from app.domain import limits
from app.domain.author import Author
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query
from app.interfaces.cli.parameters import (
    Bounded,
    CommandAnswer,
    JsonObject,
    Moment,
    agent_option,
    on_tenant,
    prints_answer,
    run,
    tenant_option,
    with_runtime,
)
from app.interfaces.fields import RecallFilter, invalid
from app.interfaces.http.schemas.memory import EntryAnswer
from app.interfaces.text import visible
from app.runtime.runtime import Runtime


class _Filter(click.ParamType[Filter]):
    """The filter of ``POST /recall``, as JSON."""

    name = "json"

    def convert(self, value: str | Filter, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        """Read it."""
        if isinstance(value, Filter):
            return value
        try:
            return RecallFilter.model_validate(JsonObject().convert(value, param, ctx)).to(Filter)
        except ValidationError as error:
            wrong = invalid([dict(each) for each in error.errors()], within=0).detail
            self.fail(f"{wrong} (it may have created_after, created_before and metadata)", param, ctx)


@click.command()
@click.argument("content")
@tenant_option
@agent_option
@click.option("--metadata", type=JsonObject(limits.METADATA), default="{}", help="Keep this JSON object with it.")
@click.option("--session", type=Bounded(limits.SESSION_ID), help="Name the conversation that it comes from.")
@click.option("--occurred-at", type=Moment(), help="Say when it happened (RFC 3339).")
@prints_answer
def store(
    content: str, tenant: str, agent: str, metadata: dict[str, Any], session: str | None, occurred_at: int | None
) -> CommandAnswer:
    """Store CONTENT as a memory. Where CONTENT is -, it is read from standard input."""
    text = sys.stdin.read() if content == "-" else content
    memory = NewMemory(text, metadata, session, occurred_at)

    def put(runtime: Runtime) -> Awaitable[str]:
        return runtime.services(tenant, Author(may_replace=True)).gateway.store(agent, memory)

    memory_id = run(with_runtime(put, tenant))
    return CommandAnswer({"stored": True, "id": memory_id}, f"stored {memory_id}")


@click.command()
@click.argument("query")
@tenant_option
@agent_option
@click.option(
    "--top-k",
    type=click.IntRange(1, limits.MAX_TOP_K),
    default=5,
    show_default=True,
    help="Print at most this many memories.",
)
@click.option(
    "--filter",
    "where",
    type=_Filter(),
    default=Filter(),
    help=(
        "Recall only what passes this filter of the API: a JSON object with any of created_after, created_before "
        '(RFC 3339) and metadata, as in \'{"created_after": "2026-01-31T00:00:00Z", "metadata": {"kind": "invoice"}}\'.'
    ),
)
@on_tenant
async def recall(runtime: Runtime, query: str, tenant: str, agent: str, top_k: int, where: Filter) -> CommandAnswer:
    """Print the memories that answer QUERY best."""
    found = await runtime.services(tenant).gateway.recall(agent, Query(query, top_k=top_k, where=where))
    left_out = {"source", "findings", "also"}
    entries = [EntryAnswer.model_validate(entry).model_dump(exclude=left_out) for entry in found.entries]
    lines = [f"{entry.score:6.3f}  {visible(entry.content)}" for entry in found.entries]
    answer = {"entries": entries, "confidence": found.confidence, "degraded": list(found.degraded)}
    return CommandAnswer(answer, "\n".join(lines) or "nothing found")
