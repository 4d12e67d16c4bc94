"""The routes of facts: learned, recalled and listed."""

from typing import Annotated

from fastapi import Query

from app.domain.errors import (
    Erasing,
    InvalidCursor,
    LongTermDisabled,
    NotFound,
    QuotaExceeded,
    SensitiveContent,
)
from app.domain.facts import Fact
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import QuotaWarning, ReadCaller, WriteCaller
from app.interfaces.http.failures import OUTAGE
from app.interfaces.http.router import Router
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

facts = Router("facts")


@facts.post(
    "/facts",
    NotFound,
    Erasing,
    SensitiveContent,
    LongTermDisabled,
    QuotaExceeded,
    needs=OUTAGE,
    answers={201: NEARLY_USED_UP},
    status_code=201,
)
async def learn(caller: WriteCaller, request: LearnFactRequest, warn: QuotaWarning) -> LearnedFactAnswer:
    """Keep a fact. A later one of its subject and predicate comes in its place where both are told with `single`."""
    agent_id = whose(request.agent_id, request.agent_type)
    semantic = caller.agent(agent_id).semantic

    only_agent = caller.principal.agent_id
    return learned_answer(
        await semantic.learn(
            agent_id, request.to(Fact), occurred_at=request.occurred_at, only_agent=only_agent, warn=warn
        )
    )


@facts.post("/facts/recall", LongTermDisabled, QuotaExceeded, needs=OUTAGE)
async def recall_facts(caller: ReadCaller, request: RecallFactsRequest) -> RecalledFactsAnswer:
    """Return the facts that answer a query best: those that were told, and texts of the type fact."""
    agent_id = whose(request.agent_id, request.agent_type)
    found = await caller.agent(agent_id).semantic.recall(
        agent_id, request.to_query(), subject=request.subject, predicate=request.predicate
    )
    return RecalledFactsAnswer(
        entries=[recalled_answer(entry) for entry in found.entries], degraded=list(found.degraded) or None
    )


@facts.get("/facts", InvalidCursor, LongTermDisabled, name="facts")
async def list_facts(caller: ReadCaller, query: Annotated[FactsQuery, Query()]) -> FactsAnswer:
    """List what holds, newest first; with `history` what held before too."""
    agent_id = whose(query.agent_id, query.agent_type)
    services = caller.agent(agent_id)
    asked = query.model_dump(include={"subject", "predicate", "learned_from_run_id", "history"})
    listing = Listing(caller, "facts", query.cursor, agent_id=agent_id, **asked)
    page = await services.semantic.facts(agent_id, limit=query.limit, after=listing.after, **asked)
    return FactsAnswer(facts=[fact_answer(fact) for fact in page.items], cursor=listing.cursor(page.after))
