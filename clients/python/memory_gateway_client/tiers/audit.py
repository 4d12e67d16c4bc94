"""Operations on the audit: what runs have called, their replay, and all events."""

import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_gateway_client.request import Call, agent_or_every, given, segment
from memory_gateway_client.tiers import audit_types as types

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def audit_run(_own: str | None, /, run_id: str, calls: Sequence[Mapping[str, Any]]) -> Call[types.Audited]:
    """Keep tool calls of a run, in their order. What is sent again is known by its ``call_id``.

    The replay has what arrived before the run ended; what arrives later is in the audit alone.

    Args:
        run_id: Which run.
        calls: 1 to 100, each with ``tool``, ``input`` (any JSON) or ``input_hash``, ``outcome`` (``ok`` or ``error``)
            and ``ms``, and where there are any ``call_id`` (a ULID; else one is made), ``error``, ``output``,
            ``tokens`` and ``called_at``.

    Raises:
        NotFound: there is no such run.
        InvalidRequest: a field is over its limits; nothing was kept.
        QuotaExceeded: the run has as many calls as it may (``quota_exceeded``); nothing was kept.
        Conflict: the agent is being erased; nothing was kept.
        Unavailable: they may be kept; sending them again with their ``call_id`` is safe.
    """
    body = {"calls": [_named(call) for call in calls]}
    return Call("POST", f"/runs/{segment(run_id)}/audit", types.Audited, body=body, status=201)


def replay_run(
    _own: str | None, /, run_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[types.Replay]:
    """Tell what happened in a run: how it began and ended, and between its tool calls, episodes and recalls.

    They are in the order in which the service got them. What is written after the end changes nothing, but recalls
    from before it take up to 30 s to appear.

    Args:
        run_id: Which run.
        limit: The most steps, 1 to 100; None: 20.
        cursor: Of the answer before.

    Raises:
        NotFound: there is no such run.
        InvalidRequest: the cursor does not hold, or a field is over its limits.
        Unavailable: there is no answer.
    """
    query = given(limit=None if limit is None else str(limit), cursor=cursor)
    return Call("GET", f"/runs/{segment(run_id)}/replay", types.Replay, query=query)


def audit(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    every_agent: bool = False,
    event: str | None = None,
    memory_id: str | None = None,
    run_id: str | None = None,
    written_by: str | None = None,
    after: datetime | None = None,
    before: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[types.AuditEvents]:
    """List what was done, newest first, as an administrator. All conditions must hold.

    Args:
        agent_id: Only of this agent, where that is not the client's.
        every_agent: Of every agent.
        event: Only of this name, such as ``stored``, ``tool_call``, ``recall``.
        memory_id: Only what was done to this memory.
        run_id: Only what names this run.
        written_by: Only what the credential with this id has done.
        after: Only later than this.
        before: Only earlier than this.
        limit: The most events, 1 to 100; None: 20.
        cursor: Of the answer before.

    Raises:
        Forbidden: the credential is not an administrator's, or for another agent.
        InvalidRequest: the cursor does not hold, or a field is over its limits.
        Unavailable: there is no answer.
    """
    query = given(
        agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
        event=event,
        memory_id=memory_id,
        run_id=run_id,
        written_by=written_by,
        after=after,
        before=before,
        limit=None if limit is None else str(limit),
        cursor=cursor,
    )
    return Call("GET", "/audit", types.AuditEvents, query=query)


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
) -> Call[types.Acts]:
    """List administrative acts and refused attempts, newest first, as an administrator of all agents.

    Args:
        act: Only of this name, such as ``agent.erase``.
        credential_id: Only what the credential with this id has done, or tried.
        outcome: Only what ended so: ``begun``, ``done``, ``failed``, ``refused``.
        after: Begun later than this.
        before: Begun earlier than this.
        limit: The most acts, 1 to 100; None: 20.
        cursor: Of the answer before.

    Raises:
        Forbidden: the credential is not an administrator's of all agents.
        InvalidRequest: the cursor does not hold, or a field is over its limits.
        Unavailable: there is no answer.
    """
    query = given(
        act=act,
        credential_id=credential_id,
        outcome=outcome,
        after=after,
        before=before,
        limit=None if limit is None else str(limit),
        cursor=cursor,
    )
    return Call("GET", "/audit/acts", types.Acts, query=query)


def _named(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as it is sent. It has an id, by which it is known if the request is sent again."""
    moments = {name: value for name, value in call.items() if isinstance(value, datetime)}
    return {"call_id": _ulid(), **call, **given(**moments)}


def _ulid() -> str:
    number = (time.time_ns() // 1_000_000 << 80) | secrets.randbits(80)
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))
