"""Operations: audit.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_gateway_client.agents import agent_or_every
from memory_gateway_client.request import (
    Call,
    Line,
    asked,
    given,
    named,
    segment,
)
from memory_gateway_client.types import Acts, Audited, AuditEvents, Replay, ToolCallRequest


def audit_run(
    _own: str | None,
    /,
    run_id: str,
    calls: Sequence[ToolCallRequest | Mapping[str, Any]],
) -> Call[Audited]:
    """Keep tool calls of a run, in the order of the request. A call that the run has already changes nothing.

    Args:
        run_id: The run.
        calls: 1 to 100, in their order. A ``call_id`` is made where it is missing.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/runs/{segment(run_id)}/audit",
        Audited,
        body=given(calls=named(calls, "call_id")),
        status=201,
    )


def replay_run(
    _own: str | None,
    /,
    run_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Replay]:
    """Tell what happened in a run: its begin, its tool calls, episodes and recalls in one order, and its end.

    Args:
        run_id: The run.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/runs/{segment(run_id)}/replay",
        Replay,
        query=asked(limit=limit, cursor=cursor),
    )


def audit(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    event: str | None = None,
    memory_id: str | None = None,
    run_id: str | None = None,
    written_by: str | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    every_agent: bool = False,
) -> Call[AuditEvents]:
    """List what was done, newest first, to an administrator: to memories, by runs and in recalls.

    Args:
        agent_id: The agent, where that is not the client's.
        event: Only of this name, such as ``stored``, ``deleted``, ``tool_call``, ``recall``.
        memory_id: Only what was done to this memory.
        run_id: Only what names this run.
        written_by: Only what the credential with this id has done.
        after: Later than this.
        before: Earlier than this.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/audit",
        AuditEvents,
        query=asked(
            agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
            event=event,
            memory_id=memory_id,
            run_id=run_id,
            written_by=written_by,
            after=after,
            before=before,
            limit=limit,
            cursor=cursor,
        ),
    )


def acts(
    _own: str | None,
    /,
    *,
    act: str | None = None,
    credential_id: str | None = None,
    outcome: str | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Acts]:
    """List administrative acts and refused attempts, newest first, to an administrator of all agents.

    Args:
        act: Only of this name, such as ``agent.erase``.
        credential_id: Only what the credential with this id has done, or tried.
        outcome: Only what ended so: ``begun`` (it has not ended), ``done``, ``failed``, ``refused``.
        after: Begun later than this.
        before: Begun earlier than this.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
    """
    return Call(
        "GET",
        "/audit/acts",
        Acts,
        query=asked(
            act=act,
            credential_id=credential_id,
            outcome=outcome,
            after=after,
            before=before,
            limit=limit,
            cursor=cursor,
        ),
    )


def export_acts(
    _own: str | None,
    /,
) -> Call[Line]:
    """Give out all administrative acts, oldest first, a line of JSON each, to an administrator of all agents.

    The last line is of the act that this request is. Keep the lines where nobody can change them.
    """
    return Call(
        "GET",
        "/audit/acts/export",
        Line,
        lines_until=(),
    )
