"""The routes that store, change and delete memories."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query, Request

from app.domain.errors import (
    Conflict,
    Erasing,
    IdempotencyKeyReused,
    LongTermDisabled,
    NotFound,
    QuotaExceeded,
    SensitiveContent,
    Superseded,
)
from app.domain.memory import Memory, NewMemory
from app.interfaces.http.dependencies import Administrator, AgentAdministrator, QuotaWarning, WriteCaller
from app.interfaces.http.failures import OUTAGE
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.changing import ChangeMemoryRequest, DeletedMemoriesAnswer, DeleteMemoriesRequest
from app.interfaces.http.schemas.memory import MemoryAnswer
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


@memory.patch(
    "/memories/{memory_id}",
    NotFound,
    Conflict,
    Superseded,
    Erasing,
    SensitiveContent,
    LongTermDisabled,
    QuotaExceeded,
    needs=OUTAGE,
    act="memory.change",
    response_model=MemoryAnswer,
    response_model_exclude_none=True,
)
async def change_memory(
    caller: AgentAdministrator,
    memory_id: MemoryId,
    request: ChangeMemoryRequest,
    query: Annotated[DeleteQuery, Query()],
) -> Memory:
    """Change what is said beside a memory's content, as an administrator: metadata, moment, end of life.

    The content is corrected by storing what holds now. The memory keeps its id, and it counts as a store.
    """
    services = caller.agent(query.agent_id)
    return await services.changes.change(query.agent_id, memory_id, request.to_change())


@memory.post("/deletions", Conflict, act="memories.delete", response_model_exclude_none=True)
async def delete_memories(caller: Administrator, request: DeleteMemoriesRequest) -> DeletedMemoriesAnswer:
    """Delete the memories of an agent that pass a filter, as an administrator; at first only count them.

    Ask with `dry_run`, then again with the number in `confirm`. One call deletes 2,000 at most: while `left` is not 0,
    confirm that number.
    """
    deletions, chosen = caller.agent(request.agent_id).filtered_deletions, request.chosen
    if request.dry_run:
        forecast = await deletions.forecast(request.agent_id, *chosen)
        return DeletedMemoriesAnswer(dry_run=True, left=forecast.memories, **asdict(forecast))
    done = await deletions.delete(request.agent_id, *chosen, confirm=request.confirm or 0)
    return DeletedMemoriesAnswer(dry_run=False, **asdict(done))


@memory.delete("/memories/{memory_id}", act="memory.delete", status_code=204)
async def delete_memory(
    caller: Administrator,
    memory_id: MemoryId,
    query: Annotated[DeleteQuery, Query()],
) -> None:
    """Delete a memory, as an administrator. One that is not there is no error."""
    await caller.agent(query.agent_id).gateway.delete(query.agent_id, memory_id)
