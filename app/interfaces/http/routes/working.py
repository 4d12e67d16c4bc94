"""The routes of working memory: keys of an agent's instances, and the turn state and the log of runs."""

from typing import Annotated, Any

from fastapi import Path, Query, Response

from app.domain.errors import (
    BlobGone,
    ContentTooLarge,
    Erasing,
    NotFound,
    PreconditionFailed,
    QuotaExceeded,
    SensitiveContent,
)
from app.interfaces.fields import Answer
from app.interfaces.http.dependencies import ReadCaller, WriteCaller
from app.interfaces.http.failures import WRITES
from app.interfaces.http.preconditions import ETAG, Only, etag
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.run_state import (
    RunId,
    RunLogAnswer,
    RunLogAppended,
    RunLogEntries,
    RunLogQuery,
    TurnStateAnswer,
    TurnStateWritten,
)
from app.interfaces.http.schemas.store import AgentId
from app.interfaces.http.schemas.working import (
    Instance,
    WorkingAnswer,
    WorkingKey,
    WorkingRequest,
    WorkingValue,
    WorkingWritten,
)

WORKING = "/working/{agent_id}/{instance}"
_RUN = "/runs/{run_id}"
_KEY = f"{WORKING}/{{key:working_key}}"
working = Router("working memory")


def _set(model: type[Answer]) -> dict[int | str, dict[str, Any]]:
    """Describe the answers of a route that sets a value, as ``model``."""
    return {
        200: {"description": "It was there, and was replaced.", **ETAG},
        201: {"description": "It is new.", "model": model, **ETAG},
    }


@working.put(_KEY, Erasing, SensitiveContent, PreconditionFailed, QuotaExceeded, answers=_set(WorkingWritten))
async def set_working(
    caller: WriteCaller,
    response: Response,
    agent_id: Annotated[AgentId, Path()],
    instance: Instance,
    key: WorkingKey,
    request: WorkingRequest,
    only: Only,
) -> WorkingWritten:
    """Set a key of an instance, for a while. The headers make it a compare-and-set."""
    written = await caller.agent(agent_id).working.set(
        agent_id, instance, key, request.value, ttl_seconds=request.ttl_seconds, only=only
    )
    response.status_code = 201 if written.created else 200
    response.headers["ETag"] = etag(written.value.version)
    return WorkingWritten.model_validate(written.value)


@working.get(_KEY, NotFound, BlobGone, answers={200: ETAG})
async def get_working(
    caller: ReadCaller, response: Response, agent_id: Annotated[AgentId, Path()], instance: Instance, key: WorkingKey
) -> WorkingValue:
    """Return what a key of an instance holds."""
    held = await caller.agent(agent_id).working.get(agent_id, instance, key)
    response.headers["ETag"] = etag(held.version)
    return WorkingValue.model_validate(held)


@working.get(WORKING)
async def list_working(caller: ReadCaller, agent_id: Annotated[AgentId, Path()], instance: Instance) -> WorkingAnswer:
    """Return all keys of an instance with what they hold, and its budget. Over 100,000 bytes it is a pointer."""
    contents = await caller.agent(agent_id).working.list(agent_id, instance)
    return WorkingAnswer.model_validate({"keys": contents.keys, "budget": contents})


@working.delete(_KEY, Erasing, PreconditionFailed, status_code=204)
async def delete_working(
    caller: WriteCaller,
    agent_id: Annotated[AgentId, Path()],
    instance: Instance,
    key: WorkingKey,
    only: Only,
) -> None:
    """Delete a key of an instance. One that is not there is no error, unless `If-Match` asks for it."""
    await caller.agent(agent_id).working.delete(agent_id, instance, key, only)


@working.put(
    f"{_RUN}/state",
    Erasing,
    SensitiveContent,
    PreconditionFailed,
    QuotaExceeded,
    needs=(*WRITES, NotFound),
    answers=_set(TurnStateWritten),
)
async def set_turn_state(
    caller: WriteCaller,
    response: Response,
    run_id: RunId,
    request: WorkingRequest,
    only: Only,
) -> TurnStateWritten:
    """Set the turn state of a run, for a while. The headers make it a compare-and-set."""
    services, only_agent = caller.shared()
    written = await services.working.set_state(
        run_id,
        request.value,
        ttl_seconds=request.ttl_seconds,
        only=only,
        only_agent=only_agent,
    )
    response.status_code = 201 if written.created else 200
    response.headers["ETag"] = etag(written.value.version)
    return TurnStateWritten.of(run_id, written.value)


@working.get(f"{_RUN}/state", NotFound, BlobGone, answers={200: ETAG})
async def get_turn_state(caller: ReadCaller, response: Response, run_id: RunId) -> TurnStateAnswer:
    """Return the turn state of a run."""
    services, only_agent = caller.shared()
    held = await services.working.state(run_id, only_agent=only_agent)
    response.headers["ETag"] = etag(held.version)
    return TurnStateAnswer.of(run_id, held)


@working.post(f"{_RUN}/log", NotFound, ContentTooLarge, Erasing, SensitiveContent, QuotaExceeded, status_code=201)
async def append_run_log(caller: WriteCaller, run_id: RunId, request: RunLogEntries) -> RunLogAppended:
    """Append entries to the log of a run."""
    services, only_agent = caller.shared()
    logged = await services.working.append_log(
        run_id, request.entries, ttl_seconds=request.ttl_seconds, only_agent=only_agent
    )
    return RunLogAppended.model_validate(logged)


@working.get(f"{_RUN}/log", NotFound, response_model_exclude_none=True)
async def run_log(caller: ReadCaller, run_id: RunId, query: Annotated[RunLogQuery, Query()]) -> RunLogAnswer:
    """Return the log of a run, oldest first."""
    services, only_agent = caller.shared()
    page = await services.working.log(run_id, limit=query.limit, after=query.after, only_agent=only_agent)
    return RunLogAnswer.model_validate(page)
