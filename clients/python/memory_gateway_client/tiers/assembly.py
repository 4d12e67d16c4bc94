"""The operation that assembles an agent's context, in the form of ``memory_gateway_client.calls``."""

from collections.abc import Sequence

from memory_gateway_client.request import Call, given, one_agent
from memory_gateway_client.tiers import assembly_types as types


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
    prefetch: bool = False,
    max_tokens: int | None = None,
    run_id: str | None = None,
    seed: int | None = None,
) -> Call[types.AssembledContext]:
    """Assemble what an agent needs at the start of a turn, of every tier, under one budget of tokens.

    The newest facts of the agent that hold are among it; a doubtful one begins with "Perhaps".

    Args:
        agent_id: Whose context, where that is not the client's agent.
        instance: Whose window is read; None: no window.
        agent_type: Whose last episodes are read; None: those of the agent itself.
        task_type: What a workflow is selected for, with ``agent_type``; None: no workflow.
        context: The shared documents by name, at most 50; None: all of the tenant.
        query: What ``prefetch`` recalls.
        prefetch: Whether long-term memory is recalled before the turn; else ``long_term.retrieved`` is empty.
        max_tokens: The most tokens of all pieces together, about; None: 8,000.
        run_id: The run in which the workflow and the recall are noted.
        seed: With the same seed and counts the same workflow is selected.

    Raises:
        NotFound: there is no such run that runs.
        InvalidRequest: a field is over its limits, or lacks another that it needs.
        Unavailable: no part answers. A part that does not is named in ``missing`` otherwise.
    """
    body = given(
        agent_id=one_agent(agent_id, _own),
        instance=instance,
        agent_type=agent_type,
        task_type=task_type,
        context=None if context is None else list(context),
        query=query,
        prefetch=prefetch or None,
        max_tokens=max_tokens,
        run_id=run_id,
        seed=seed,
    )
    return Call("POST", "/context/assemble", types.AssembledContext, body=body)
