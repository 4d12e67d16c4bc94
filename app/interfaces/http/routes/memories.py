"""The routes that store and delete one memory."""

from typing import Annotated

from fastapi import Query, Request

from app.domain.errors import Erasing, IdempotencyKeyReused, LongTermDisabled, NotFound, QuotaExceeded, SensitiveContent
from app.domain.memory import NewMemory
from app.interfaces.http.dependencies import Administrator, QuotaWarning, WriteCaller
from app.interfaces.http.failures import OUTAGE
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.store import (
    IDEMPOTENCY_KEY,
    NEARLY_USED_UP,
    DeleteQuery,
    MemoryId,
    StoreAnswer,
    StoreRequest,
)

memory = Router("memory")


@memory.post(
    "/store",
    NotFound,
    Erasing,
    SensitiveContent,
    LongTermDisabled,
    IdempotencyKeyReused,
    QuotaExceeded,
    needs=OUTAGE,
    answers={201: NEARLY_USED_UP},
    status_code=201,
    response_model_exclude_none=True,
    openapi_extra={"parameters": [IDEMPOTENCY_KEY]},
)
async def store(caller: WriteCaller, request: StoreRequest, http: Request, warn: QuotaWarning) -> StoreAnswer:
    """Store a memory. The same content again, for the same session and time, is the same memory."""
    gateway = caller.agent(request.agent_id).gateway
    key = http.headers.get(IDEMPOTENCY_KEY["name"])

    kept: list[str] = []
    await gateway.store(request.agent_id, request.to(NewMemory), idempotency_key=key, warn=warn, keep=kept.extend)
    return StoreAnswer(kept=kept or None)


@memory.delete("/memories/{memory_id}", act="memory.delete", status_code=204)
async def delete_memory(
    caller: Administrator,
    memory_id: MemoryId,
    query: Annotated[DeleteQuery, Query()],
) -> None:
    """Delete a memory, as an administrator. One that is not there is no error."""
    await caller.agent(query.agent_id).gateway.delete(query.agent_id, memory_id)
