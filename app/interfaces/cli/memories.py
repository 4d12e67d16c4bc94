"""Commands that store and recall memories."""

import sys
from collections.abc import Awaitable
from typing import Any

import click

from app.domain.author import Author
from app.domain.memory import NewMemory
from app.domain.moments import format_moment
from app.domain.query import Filter, Query
from app.interfaces.cli.parameters import (
    JsonObject,
    Moment,
    agent_option,
    as_json_option,
    print_answer,
    run,
    tenant_option,
    with_runtime,
)
from app.interfaces.text import visible
from app.runtime.runtime import Runtime
from app.services.recall import Recall


@click.command()
@click.argument("content")
@tenant_option
@agent_option
@click.option("--metadata", type=JsonObject(), default="{}", help="A JSON object.")
@click.option("--session", help="The conversation it comes from.")
@click.option("--occurred-at", type=Moment(), help="When it happened (RFC 3339).")
@as_json_option
def store(
    content: str,
    tenant: str,
    agent: str,
    metadata: dict[str, Any],
    session: str | None,
    occurred_at: int | None,
    *,
    as_json: bool,
) -> None:
    """Store CONTENT, or what comes on standard input where CONTENT is -."""
    text = sys.stdin.read() if content == "-" else content
    memory = NewMemory(text, metadata, session, occurred_at)

    def put(runtime: Runtime) -> Awaitable[str]:
        return runtime.services(tenant, Author(may_replace=True)).gateway.store(agent, memory)

    memory_id = run(with_runtime(put))
    print_answer({"stored": True, "id": memory_id}, f"stored {memory_id}", as_json)


@click.command()
@click.argument("query")
@tenant_option
@agent_option
@click.option("--top-k", type=int, default=5, show_default=True, help="The most entries to return.")
@click.option("--filter", "metadata", type=JsonObject(), default="{}", help="Metadata that must match, as JSON.")
@as_json_option
def recall(query: str, tenant: str, agent: str, top_k: int, metadata: dict[str, Any], *, as_json: bool) -> None:
    """Print the memories that answer QUERY best."""
    where = Filter(metadata=metadata)

    def ask(runtime: Runtime) -> Awaitable[Recall]:
        return runtime.services(tenant).gateway.recall(agent, Query(query, top_k=top_k, where=where))

    found = run(with_runtime(ask))
    entries = [
        {
            "id": entry.id,
            "content": entry.content,
            "metadata": entry.metadata,
            "score": entry.score,
            "similarity": entry.similarity,
            "created_at": format_moment(entry.created_at),
        }
        for entry in found.entries
    ]
    lines = [f"{entry.score:6.3f}  {visible(entry.content)}" for entry in found.entries]
    print_answer(
        {"entries": entries, "confidence": found.confidence, "degraded": list(found.degraded)},
        "\n".join(lines) or "nothing found",
        as_json,
    )
