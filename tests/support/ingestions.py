"""What an ingestion leaves on its way: an operation, a message, a pass, a proposal and what it has spent."""

from typing import Any

from tests.support.tables import Source, insert_rows


def _scope(tenant_id: str, agent_id: str) -> dict[str, Any]:
    return {"tenant_id": tenant_id, "agent_id": agent_id}


async def ingestion(
    source: Source, id_: str, *, tenant_id: str = "acme", agent_id: str = "bot", session_id: str = "s", **own: Any
) -> None:
    """Have an ingestion of one message have been accepted long ago."""
    row = {"id": id_, "session_id": session_id, "accepted_at": 1, "messages": 1, "written_through": "http"}
    await insert_rows(source, "ingestion", _scope(tenant_id, agent_id) | row | own)


async def message(
    source: Source, id_: str, ingestion_id: str = "i", *, tenant_id: str = "acme", agent_id: str = "bot", **own: Any
) -> None:
    """Have a message be waiting to become a memory."""
    row = {"id": id_, "ingestion_id": ingestion_id, "place": 0, "session_id": "s", "role": "user", "content": "text"}
    await insert_rows(source, "message", _scope(tenant_id, agent_id) | row | {"said_at": 1, "content_hash": "h"} | own)


async def proposal(source: Source, ingestion_id: str, id_: str, **own: Any) -> None:
    """Have a model have proposed a memory."""
    row = {"ingestion_id": ingestion_id, "id": id_, "pass": 0, "content": "text", "message_ids": "[]"}
    await insert_rows(source, "proposal", _scope("acme", "bot") | row | own)


async def learning_pass(source: Source, ingestion_id: str) -> None:
    """Have a model be going to look at an ingestion."""
    row = {"ingestion_id": ingestion_id, "number": 0, "kind": "extract", "message_ids": "[]"}
    await insert_rows(source, "pass", _scope("acme", "bot") | row)


async def model_spend(source: Source, day: int) -> None:
    """Have a tenant have spent tokens on a day."""
    row = {"tenant_id": "acme", "day": day, "stage": "extract", "calls": 1, "tokens": 10}
    await insert_rows(source, "model_spend", row)
