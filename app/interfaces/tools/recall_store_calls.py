"""Calls ``recall_memory`` and ``store_memory``, through the gateway."""

from collections.abc import Mapping
from typing import Any

from app.domain.author import Provenance
from app.domain.json_types import Json
from app.domain.moments import format_day, format_moment
from app.domain.query import Entry, Restatement
from app.interfaces.tools.arguments import Ask, Reader, RecallArguments, StoreArguments
from app.interfaces.tools.definition import NOTICE
from app.interfaces.tools.recall_store import RECALL_MEMORY, STORE_MEMORY
from app.runtime.tenant_services import TenantServices
from app.services.memories.recall import Recall


def _recall_memory(arguments: Mapping[str, Any]) -> Ask:
    query = RecallArguments.read(arguments).to_query()

    async def ask(services: TenantServices, agent_id: str) -> dict[str, Json]:
        return _answer(await services.gateway.recall_analysed(agent_id, query))

    return ask


def _store_memory(arguments: Mapping[str, Any]) -> Ask:
    memory = StoreArguments.read(arguments).to_memory()

    async def ask(services: TenantServices, agent_id: str) -> dict[str, Json]:
        kept: list[Json] = []
        await services.gateway.store(agent_id, memory, keep=kept.extend)
        return {"stored": True, "kept": kept} if kept else {"stored": True}

    return ask


READERS: dict[str, Reader] = {RECALL_MEMORY.name: _recall_memory, STORE_MEMORY.name: _store_memory}


def _answer(recall: Recall) -> dict[str, Json]:
    entries: list[Json] = [_shown(entry) for entry in recall.entries]
    answer: dict[str, Json] = {"notice": NOTICE, "entries": entries, "confidence": recall.confidence}
    return answer | ({"degraded": list(recall.degraded)} if recall.degraded else {})


def _shown(entry: Entry) -> dict[str, Json]:
    """Return an entry as a model reads it; the day comes before the content, which may be long."""
    return {
        "id": entry.id,
        "date": format_day(entry.happened_at),
        "content": entry.content,
        "metadata": dict(entry.metadata),
        "score": entry.score,
        "created_at": format_moment(entry.created_at),
        **({} if entry.occurred_at is None else {"occurred_at": format_moment(entry.occurred_at)}),
        **({} if entry.session_id is None else {"session_id": entry.session_id}),
        "source": _source(entry.source),
        **({"also": [_restatement(one) for one in entry.also]} if entry.also else {}),
    }


def _restatement(memory: Restatement) -> Json:
    return {"id": memory.id, "date": format_day(memory.happened_at)}


def _source(source: Provenance | None) -> Json:
    """Say in few words who wrote a memory: the channel, and the credential where there was one."""
    if source is None:
        return "unknown"
    return source.channel if source.credential_id is None else f"{source.channel} {source.credential_id}"
