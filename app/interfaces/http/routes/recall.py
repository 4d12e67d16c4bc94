"""The routes that recall memories and explain a recall."""

from app.domain.errors import NotFound
from app.interfaces.http.dependencies import ReadCaller
from app.interfaces.http.failures import OUTAGE, RECALL
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.explain import ExplainAnswer, ExplainRequest, explain_answer
from app.interfaces.http.schemas.recall import RecallAnswer, RecallRequest
from app.services.memories.recall import Recall

recalls = Router("memory")


@recalls.post("/recall", *RECALL, needs=OUTAGE, response_model=RecallAnswer)
async def recall(caller: ReadCaller, request: RecallRequest) -> Recall:
    """Return the agent's memories that answer the query best."""
    gateway = caller.agent(request.agent_id).gateway
    return await gateway.recall(request.agent_id, request.to_query(), run_id=request.run_id)


@recalls.post("/recall/explain", NotFound, *RECALL, needs=OUTAGE, response_model_exclude_unset=True)
async def explain(caller: ReadCaller, request: ExplainRequest) -> ExplainAnswer:
    """Tell why a memory is, or is not, in the answer of a recall, and which least change would return it."""
    query, gateway = request.to_query(), caller.agent(request.agent_id).gateway
    return explain_answer(query, await gateway.explain(request.agent_id, query, request.memory_id))
