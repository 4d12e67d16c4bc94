"""The routes of facts: learned, recalled and listed."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.domain.errors import (
    Erasing,
    InvalidCursor,
    InvalidRequest,
    LongTermDisabled,
    NotFound,
    QuotaExceeded,
    Unavailable,
)
from app.domain.quotas import Use
from app.interfaces.http.cursors import Cursors, FactListing
from app.interfaces.http.dependencies import Caller, CredentialFirst
from app.interfaces.http.failures import ACCESS, BODY, OUTAGE, UPSTREAM
from app.interfaces.http.problems import QUOTA_WARNING, responses
from app.interfaces.http.schemas.facts import (
    FactsAnswer,
    FactsQuery,
    LearnedFactAnswer,
    LearnFactRequest,
    RecalledFactsAnswer,
    RecallFactsRequest,
    fact_answer,
    learned_answer,
    recalled_answer,
)
from app.interfaces.http.schemas.store import NEARLY_USED_UP
from app.services.tiers.facts import whose

facts = APIRouter(tags=["facts"], route_class=CredentialFirst)


@facts.post(
    "/facts",
    name="learn",
    status_code=201,
    responses={
        201: NEARLY_USED_UP,
        **responses(*ACCESS, *BODY, NotFound, Erasing, LongTermDisabled, QuotaExceeded, *OUTAGE),
    },
)
async def learn(caller: Caller, request: LearnFactRequest, response: Response) -> LearnedFactAnswer:
    """Keep a fact. A later one of its subject and predicate comes in its place where both are told with `single`."""
    agent_id = whose(request.agent_id, request.agent_type)
    semantic = caller.agent(agent_id).semantic

    def warn(uses: Sequence[Use]) -> None:
        if uses:
            response.headers[QUOTA_WARNING] = ", ".join(use.header for use in uses)

    only_agent = caller.principal.agent_id
    return learned_answer(
        await semantic.learn(agent_id, request.to_fact(), occurred_at=request.at, only_agent=only_agent, warn=warn)
    )


@facts.post(
    "/facts/recall",
    name="recall_facts",
    responses=responses(*ACCESS, *BODY, LongTermDisabled, QuotaExceeded, *OUTAGE),
)
async def recall_facts(caller: Caller, request: RecallFactsRequest) -> RecalledFactsAnswer:
    """Return the facts that answer a query best: those that were told, and texts of the type fact."""
    agent_id = whose(request.agent_id, request.agent_type)
    found = await caller.agent(agent_id).semantic.recall(
        agent_id, request.to_query(), subject=request.subject, predicate=request.predicate
    )
    return RecalledFactsAnswer(
        entries=[recalled_answer(each) for each in found.entries], degraded=list(found.degraded) or None
    )


@facts.get(
    "/facts",
    name="facts",
    responses=responses(*ACCESS, InvalidRequest, InvalidCursor, LongTermDisabled, Unavailable, *UPSTREAM),
)
async def list_facts(caller: Caller, query: Annotated[FactsQuery, Query()]) -> FactsAnswer:
    """List what holds, newest first; with `history` what held before too."""
    agent_id = whose(query.agent_id, query.agent_type)
    services, now = caller.agent(agent_id), caller.runtime.backends.clock()
    listing = FactListing(
        caller.principal.tenant_id,
        agent_id,
        query.subject,
        query.predicate,
        query.learned_from_run_id,
        query.history,
    )
    cursors = Cursors(caller.runtime.credentials, listing)
    page = await services.semantic.facts(
        agent_id,
        subject=query.subject,
        predicate=query.predicate,
        learned_from_run_id=query.learned_from_run_id,
        history=query.history,
        limit=query.limit,
        after=cursors.read(query.cursor, now=now) if query.cursor else None,
    )
    cursor = None if page.after is None else cursors.write(page.after, now=now)
    return FactsAnswer(facts=[fact_answer(each) for each in page.facts], cursor=cursor)
