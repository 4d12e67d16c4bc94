"""Operations: context.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Sequence

from memory_gateway_client.agents import one_agent
from memory_gateway_client.request import (
    Call,
    given,
)
from memory_gateway_client.types import AssembledContext


def assemble_context(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    instance: str | None = None,
    agent_type: str | None = None,
    task_type: str | None = None,
    context: Sequence[str] | None = None,
    query: str | None = None,
    prefetch: bool | None = None,
    max_tokens: int | None = None,
    run_id: str | None = None,
    seed: int | None = None,
) -> Call[AssembledContext]:
    """Assemble what an agent needs at the start of a turn, of every tier, under one budget of tokens.

    The newest facts of the agent that hold are among it. The parts are read side by side. One that does not answer is
    named in ``missing``, and the others are given. To choose a workflow in a run needs the scope ``memory:write`` too.

    Args:
        agent_id: The agent, where that is not the client's.
        instance: Whose window is read. Absent: no window.
        agent_type: Whose last episodes are read. Absent: those of the agent itself.
        task_type: What a workflow is selected for, with ``agent_type``. Absent: no workflow.
        context: The shared documents. Absent: all of the tenant.
        query: What long-term memory is recalled for.
        prefetch: Whether long-term memory is recalled before the turn. Absent: where there is a ``query``. If not,
            ``long_term.retrieved`` stays empty, and the agent recalls by its tool.
        max_tokens: The most tokens of all pieces together, about. From 1 to 200,000. Left out: ``8000``.
        run_id: The run in which the workflow and the recall are noted.
        seed: With the same seed and counts the same workflow is selected.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/context/assemble",
        AssembledContext,
        body=given(
            agent_id=one_agent(agent_id, _own),
            instance=instance,
            agent_type=agent_type,
            task_type=task_type,
            context=context,
            query=query,
            prefetch=prefetch,
            max_tokens=max_tokens,
            run_id=run_id,
            seed=seed,
        ),
    )
