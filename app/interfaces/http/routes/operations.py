"""The routes for operators: whether the process lives and is ready, and its metrics."""

from typing import Annotated

from fastapi import Depends, Query, Request, Response
from starlette.responses import PlainTextResponse

from app.domain.errors import Forbidden, InvalidRequest, Unauthenticated
from app.interfaces.http.dependencies import entry_of, no_repeats, shards_of
from app.interfaces.http.failures import ACCESS
from app.interfaces.http.metrics_readers import MetricsReaders
from app.interfaces.http.named_route import NamedRoute
from app.interfaces.http.pages import LatelyMade
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.operations import (
    CircuitAnswer,
    EmbeddingConfigAnswer,
    HealthAnswer,
    OutboxAnswer,
    PartAnswer,
    ReadinessAnswer,
    ReadinessQuery,
)
from app.runtime.checks import PartState
from app.runtime.runtime import Runtime
from app.runtime.state import are_ready

operations = Router("operations", route_class=NamedRoute)


@operations.get("/healthz", needs=(InvalidRequest,))
async def healthz() -> HealthAnswer:
    """Say that the process is alive."""
    return HealthAnswer()


@operations.get(
    "/readyz",
    needs=(*ACCESS, InvalidRequest),
    answers={503: {"model": ReadinessAnswer}},
    dependencies=[Depends(no_repeats)],
    response_model_exclude_none=True,
)
async def readyz(request: Request, response: Response, query: Annotated[ReadinessQuery, Query()]) -> ReadinessAnswer:
    """Ask each part about itself: 200 when every one answers but the reranker, which recalls do without, else 503."""
    shards = shards_of(request)
    with_details = query.details != "false"
    if with_details:
        (await entry_of(request)).within("admin")
    parts = await shards.parts()
    ready = are_ready(parts)
    response.status_code = 200 if ready else 503
    return ReadinessAnswer(
        status="ready" if ready else "not_ready",
        embedding_config=EmbeddingConfigAnswer.model_validate(shards.main.config),
        parts=[_part(part) for part in parts],
        outbox=await _outbox(shards.main) if with_details and ready else None,
        circuits=_circuits(shards.main) if with_details else None,
    )


@operations.get("/metrics", needs=(Unauthenticated, Forbidden, InvalidRequest), response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Tell what was called, how long it took and what is left of the budget, in Prometheus' text form.

    Only this machine reads them, or who has METRICS_TOKEN, unless METRICS says otherwise.
    """
    readers: MetricsReaders = request.app.state.metrics_readers
    readers.check(request)
    made: LatelyMade = request.app.state.metrics
    return (await made.get()).answer(request)


async def _outbox(runtime: Runtime) -> OutboxAnswer:
    return OutboxAnswer.model_validate(await runtime.outbox_status())


def _circuits(runtime: Runtime) -> list[CircuitAnswer]:
    now = runtime.backends.clock()
    return [
        CircuitAnswer(
            name=circuit.name,
            state=circuit.state,
            since=None if circuit.seconds is None else now - int(circuit.seconds * 1000),
            opened=circuit.opened,
            error=circuit.error,
        )
        for circuit in runtime.backends.circuits()
    ]


def _part(part: PartState) -> PartAnswer:
    if part.error is None:
        return PartAnswer(name=part.name, backend=part.backend, status="ok", detail=part.notice)
    return PartAnswer(
        name=part.name, backend=part.backend, status="failing", code=part.error.code, detail=part.error.detail
    )
