"""The routes: parse, one call of the gateway, answer."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.responses import PlainTextResponse

from app.domain.errors import (
    Erasing,
    IdempotencyKeyReused,
    InvalidRequest,
    LongTermDisabled,
    NotFound,
    QuotaExceeded,
    Unavailable,
)
from app.domain.quotas import Use
from app.interfaces.http.dependencies import (
    Administrator,
    Caller,
    CredentialFirst,
    no_query,
    no_repeats,
    principal_of,
    runtime_of,
)
from app.interfaces.http.failures import ACCESS, BODY, OUTAGE, UPSTREAM, WRITES
from app.interfaces.http.problems import QUOTA_WARNING, responses
from app.interfaces.http.schemas.operations import (
    EmbeddingConfigAnswer,
    HealthAnswer,
    OperationAnswer,
    OperationId,
    OutboxAnswer,
    PartAnswer,
    ReadinessAnswer,
    ReadinessQuery,
    operation_answer,
)
from app.interfaces.http.schemas.recall import (
    ExplainAnswer,
    ExplainRequest,
    RecallAnswer,
    RecallRequest,
    explain_answer,
    recall_answer,
)
from app.interfaces.http.schemas.store import (
    IDEMPOTENCY_KEY,
    NEARLY_USED_UP,
    AgentId,
    DeleteQuery,
    MemoryId,
    StoreAnswer,
    StoreRequest,
)
from app.observability.metrics import MEDIA_TYPE
from app.runtime.runtime import Part
from app.storage.erasures import Erasure

memory = APIRouter(tags=["memory"], route_class=CredentialFirst)
operations = APIRouter(tags=["operations"])


@memory.post(
    "/store",
    status_code=201,
    responses={
        201: NEARLY_USED_UP,
        **responses(*ACCESS, *BODY, Erasing, LongTermDisabled, IdempotencyKeyReused, QuotaExceeded, *OUTAGE),
    },
    openapi_extra={"parameters": [IDEMPOTENCY_KEY]},
)
async def store(caller: Caller, request: StoreRequest, http: Request, response: Response) -> StoreAnswer:
    """Store a memory. The same content again, for the same session and time, is the same memory."""
    gateway = caller.agent(request.agent_id).gateway
    key = http.headers.get(IDEMPOTENCY_KEY["name"])

    def warn(uses: Sequence[Use]) -> None:
        if uses:
            response.headers[QUOTA_WARNING] = ", ".join(use.header for use in uses)

    await gateway.store(request.agent_id, request.memory(), idempotency_key=key, warn=warn)
    return StoreAnswer()


@memory.post(
    "/recall",
    response_model_exclude_unset=True,
    responses=responses(*ACCESS, *BODY, LongTermDisabled, *OUTAGE),
)
async def recall(caller: Caller, request: RecallRequest) -> RecallAnswer:
    """Return the agent's memories that answer the query best."""
    return recall_answer(await caller.agent(request.agent_id).gateway.recall(request.agent_id, request.asked()))


@memory.post(
    "/recall/explain",
    response_model_exclude_unset=True,
    responses=responses(*ACCESS, *BODY, NotFound, LongTermDisabled, *OUTAGE),
)
async def explain(caller: Caller, request: ExplainRequest) -> ExplainAnswer:
    """Tell why a memory is, or is not, in the answer of a recall, and which least change would return it."""
    asked = request.asked()
    gateway = caller.agent(request.agent_id).gateway
    return explain_answer(asked, await gateway.explain(request.agent_id, asked, request.memory_id))


@memory.delete(
    "/memories/{memory_id}",
    status_code=204,
    response_class=Response,
    responses=responses(*ACCESS, *WRITES),
)
async def delete_memory(
    caller: Administrator,
    memory_id: Annotated[MemoryId, Path()],
    query: Annotated[DeleteQuery, Query()],
) -> None:
    """Delete a memory, as an administrator. One that is not there is no error."""
    await caller.agent(query.agent_id).gateway.delete(query.agent_id, memory_id)


@memory.delete(
    "/agents/{agent_id}",
    dependencies=[Depends(no_query)],
    status_code=202,
    response_model_exclude_none=True,
    responses=responses(*ACCESS, *WRITES),
)
async def erase_agent(
    caller: Administrator, agent_id: Annotated[AgentId, Path()], response: Response
) -> OperationAnswer:
    """Begin to erase everything of an agent, as an administrator. An erasure under way is returned instead."""
    return _accepted(await caller.agent(agent_id).gateway.erase(agent_id), response)


@memory.delete(
    "/tenant",
    dependencies=[Depends(no_query)],
    status_code=202,
    response_model_exclude_none=True,
    responses=responses(*ACCESS, *WRITES),
)
async def erase_tenant(caller: Administrator, response: Response) -> OperationAnswer:
    """Begin to erase everything of the tenant, as an administrator. An erasure under way is returned instead."""
    caller.principal.check_every_agent()
    services, _ = caller.tenant()
    return _accepted(await services.gateway.erase(None), response)


@memory.get(
    "/operations/{operation_id}",
    dependencies=[Depends(no_query)],
    response_model_exclude_none=True,
    responses=responses(*ACCESS, NotFound, InvalidRequest, Unavailable, *UPSTREAM),
)
async def operation(caller: Administrator, operation_id: Annotated[OperationId, Path()]) -> OperationAnswer:
    """Tell how far an erasure is; once it is done, with its receipt."""
    services, only_agent = caller.tenant()
    return operation_answer(await services.gateway.erasure(operation_id, only_agent=only_agent))


def _accepted(erasure: Erasure, response: Response) -> OperationAnswer:
    response.headers["Location"] = f"/operations/{erasure.id}"
    return operation_answer(erasure)


@operations.get("/healthz", dependencies=[Depends(no_query)], responses=responses(InvalidRequest))
async def healthz() -> HealthAnswer:
    """Say that the process is alive."""
    return HealthAnswer()


@operations.get(
    "/readyz",
    dependencies=[Depends(no_repeats)],
    response_model_exclude_none=True,
    responses={503: {"model": ReadinessAnswer}, **responses(*ACCESS, InvalidRequest)},
)
async def readyz(request: Request, response: Response, query: Annotated[ReadinessQuery, Query()]) -> ReadinessAnswer:
    """Ask each part about itself: 200 when every one answers, else 503."""
    runtime = runtime_of(request)
    if query.details is not None:
        principal_of(request).check_admin()
    parts = await runtime.parts()
    ready = all(part.error is None for part in parts)
    response.status_code = 200 if ready else 503
    config = runtime.config
    return ReadinessAnswer(
        status="ready" if ready else "not_ready",
        embedding_config=EmbeddingConfigAnswer(
            provider=config.provider, model=config.model, dimensions=config.dimensions
        ),
        parts=[_part(part) for part in parts],
        outbox=None if query.details is None or not ready else OutboxAnswer(**asdict(await runtime.outbox_status())),
    )


@operations.get(
    "/metrics", dependencies=[Depends(no_query)], response_class=PlainTextResponse, responses=responses(InvalidRequest)
)
async def metrics(request: Request) -> Response:
    """Tell what was called, how long it took and what is left of the budget, in Prometheus' text form."""
    return PlainTextResponse(runtime_of(request).metrics.render(), media_type=MEDIA_TYPE)


def _part(part: Part) -> PartAnswer:
    if part.error is None:
        return PartAnswer(name=part.name, backend=part.backend, status="ok", detail=part.notice)
    return PartAnswer(
        name=part.name, backend=part.backend, status="failing", code=part.error.code, detail=part.error.detail
    )
