"""The operations that ingest conversations. They may raise what the operations of ``calls`` raise."""

from collections.abc import Mapping, Sequence
from typing import Any

from memory_gateway_client.request import Call, given, one_agent, segment
from memory_gateway_client.tiers import ingesting_types as types


def ingest(
    _own: str | None,
    /,
    messages: Sequence[Mapping[str, Any]],
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    run_id: str | None = None,
    dry_run: bool = False,
) -> Call[types.Ingested]:
    """Make a memory of each message of a conversation. The same messages again change nothing.

    Args:
        messages: 1 to 500, each with ``role``, ``content`` and, where you know it, ``occurred_at`` (a datetime).
        agent_id: Whose memories they become, where that is not the client's agent.
        session_id: The conversation that they are of; None: made of what they say.
        run_id: The run that ingests them: its log tells of it, and its undo takes them back.
        dry_run: Whether only to say what would become of them.

    Raises:
        InvalidRequest: a field is over its limits; nothing was taken.
        NotFound: the agent has no such run; nothing was written.
        Conflict: the agent's long-term memory is switched off, or it is being erased; nothing was written.
        QuotaExceeded: there is no room, or too many ingestions are running; nothing was written.
        Unavailable: they may be taken; ingesting them again is safe.
    """
    path = f"/profiles/{segment(one_agent(agent_id, _own))}/ingest"
    said = [given(**message) for message in messages]
    body = given(messages=said, session_id=session_id, run_id=run_id)
    query = given(dry_run="true" if dry_run else None)
    return Call("POST", path, types.Ingested, query=query, body=body, also=(202,))


def ingestion(_own: str | None, /, operation_id: str, *, agent_id: str | None = None) -> Call[types.Ingestion]:
    """Return how far an ingestion is, and what a language model has learned of its messages.

    Args:
        operation_id: As ``ingest`` answered it.
        agent_id: Whose ingestion it is, where that is not the client's agent.

    Raises:
        NotFound: the agent has no such ingestion.
        Unavailable: there is no answer.
    """
    path = f"/profiles/{segment(one_agent(agent_id, _own))}/operations/{segment(operation_id)}"
    return Call("GET", path, types.Ingestion)
