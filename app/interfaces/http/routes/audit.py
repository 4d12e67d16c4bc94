"""The routes for the audit: what runs have called, their replay, and all events."""

from typing import Annotated

from fastapi import Query

from app.domain.audit import AuditFilter
from app.domain.errors import Erasing, InvalidCursor, NotFound, QuotaExceeded, SensitiveContent
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import Administrator, ReadCaller, WriteCaller
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.audit import (
    AuditedAnswer,
    AuditQuery,
    AuditRunRequest,
    EventsAnswer,
    RunId,
)
from app.interfaces.http.schemas.replay import ReplayAnswer, ReplayQuery, StepAnswer

audit = Router("audit")


@audit.post("/runs/{run_id}/audit", NotFound, Erasing, SensitiveContent, QuotaExceeded, status_code=201)
async def audit_run(caller: WriteCaller, run_id: RunId, request: AuditRunRequest) -> AuditedAnswer:
    """Keep tool calls of a run, in the order of the request. A call that the run has already changes nothing."""
    services, only_agent = caller.shared()
    calls = [call.to_call() for call in request.calls]
    return AuditedAnswer.model_validate(await services.auditor.record(run_id, calls, only_agent=only_agent))


@audit.get("/runs/{run_id}/replay", InvalidCursor, NotFound, response_model_exclude_unset=True)
async def replay_run(caller: ReadCaller, run_id: RunId, query: Annotated[ReplayQuery, Query()]) -> ReplayAnswer:
    """Tell what happened in a run: its begin, its tool calls, episodes and recalls in one order, and its end."""
    services, only_agent = caller.shared()
    listing = Listing(caller, "replay", query.cursor, run_id=run_id, only_agent=only_agent)
    replay = await services.auditor.replay(run_id, limit=query.limit, after=listing.after, only_agent=only_agent)
    return ReplayAnswer(steps=[StepAnswer.of(step) for step in replay.steps], cursor=listing.cursor(replay.after))


@audit.get("/audit", InvalidCursor, name="audit", response_model_exclude_unset=True)
async def list_events(caller: Administrator, query: Annotated[AuditQuery, Query()]) -> EventsAnswer:
    """List what was done, newest first, to an administrator: to memories, by runs and in recalls."""
    services, agent_id = caller.tenant(query.agent_id)
    where = query.to(AuditFilter, agent_id=agent_id)
    listing = Listing(caller, "audit", query.cursor, where=where)
    page = await services.auditor.events(where, limit=query.limit, after=listing.after)
    return EventsAnswer.model_validate({"events": page.items, "cursor": listing.cursor(page.after)})
