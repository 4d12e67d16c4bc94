"""The route that assembles an agent's context."""

from app.domain.errors import Erasing, NotFound, QuotaExceeded
from app.interfaces.http.dependencies import ReadCaller
from app.interfaces.http.failures import OUTAGE
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.assembly import AssembledAnswer, AssembleRequest
from app.services.assembly.assembler import ContextWanted

assembly = Router("context")


@assembly.post("/context/assemble", NotFound, Erasing, QuotaExceeded, needs=OUTAGE)
async def assemble_context(caller: ReadCaller, request: AssembleRequest) -> AssembledAnswer:
    """Assemble what an agent needs at the start of a turn, of every tier, under one budget of tokens.

    The newest facts of the agent that hold are among it. The parts are read side by side. One that does not answer is
    named in `missing`, and the others are given. To choose a workflow in a run needs the scope `memory:write` too.
    """
    if request.task_type is not None and request.run_id is not None:  # the choice counts in what the workflow learns
        caller = caller.within("read", "write")
    prefetch = request.query is not None if request.prefetch is None else request.prefetch
    only_agent = caller.principal.agent_id
    wanted = request.to(ContextWanted, names=request.context, prefetch=prefetch, only_agent=only_agent)
    return AssembledAnswer.of(wanted, await caller.agent(request.agent_id).assembler.assemble(wanted))
