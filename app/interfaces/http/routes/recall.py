"""The routes that recall memories and explain a recall."""

from fastapi import APIRouter

from app.domain.errors import LongTermDisabled, NotFound, QuotaExceeded
from app.interfaces.http.dependencies import Caller, CredentialFirst
from app.interfaces.http.failures import ACCESS, BODY, OUTAGE
from app.interfaces.http.problems import responses
from app.interfaces.http.schemas.explain import ExplainAnswer, ExplainRequest, explain_answer
from app.interfaces.http.schemas.recall import RecallAnswer, RecallRequest
from app.services.memories.recall import Recall

recalls = APIRouter(tags=["memory"], route_class=CredentialFirst)


@recalls.post(
    "/recall",
    response_model=RecallAnswer,
    responses=responses(*ACCESS, *BODY, LongTermDisabled, QuotaExceeded, *OUTAGE),
)
async def recall(caller: Caller, request: RecallRequest) -> Recall:
    """Return the agent's memories that answer the query best."""
    gateway = caller.agent(request.agent_id).gateway
    return await gateway.recall(request.agent_id, request.to_query(), run_id=request.run_id)


@recalls.post(
    "/recall/explain",
    response_model_exclude_unset=True,
    responses=responses(*ACCESS, *BODY, NotFound, LongTermDisabled, QuotaExceeded, *OUTAGE),
)
async def explain(caller: Caller, request: ExplainRequest) -> ExplainAnswer:
    """Tell why a memory is, or is not, in the answer of a recall, and which least change would return it."""
    query, gateway = request.to_query(), caller.agent(request.agent_id).gateway
    return explain_answer(query, await gateway.explain(request.agent_id, query, request.memory_id))
