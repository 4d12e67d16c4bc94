"""Each operation of the service, once: what is sent for it, and what is answered.

A function takes first the agent of the client, if it has one, which the client itself fills in, and then what its
caller says. None leaves a parameter to the service.

Beside the errors that a function names, each may raise ``QuotaExceeded`` with the code ``rate_limited`` when there are
too many calls; a write may have been done then, and doing it again is as safe as after ``Unavailable``.
"""

import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from types import EllipsisType, NoneType
from typing import Any

from memory_gateway_client import types
from memory_gateway_client.request import Call, agent_or_every, given, is_visible, one_agent, segment


def store(
    _own: str | None,
    /,
    content: str,
    *,
    agent_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    session_id: str | None = None,
    occurred_at: datetime | None = None,
    expires_at: datetime | None = None,
    idempotency_key: str | None = None,
    run_id: str | None = None,
) -> Call[types.Stored]:
    """Store a memory. The same content again, for the same session and time, is the same memory.

    Args:
        content: At most 32 KiB in UTF-8.
        agent_id: Whose memory it is, where that is not the client's agent.
        metadata: A JSON object.
        session_id: The conversation it comes from.
        occurred_at: When it happened, where that is not now.
        expires_at: When it is forgotten; None: as the agent is set.
        idempotency_key: Names this store for 24 hours, so that sent again it is not done again; None: a fresh one.
        run_id: The run that stores: its log tells of it, and its undo takes it back.

    Raises:
        InvalidRequest: a field is over its limits; nothing was stored.
        QuotaExceeded: the agent or the tenant may have no more (``quota_exceeded``); nothing was stored.
        NotFound: the agent has no such run; nothing was stored.
        Conflict: the agent is being erased, or the key named another store; nothing was stored.
        Unavailable: it may be stored; storing it again is safe.
    """
    body = given(
        agent_id=one_agent(agent_id, _own),
        content=content,
        metadata=metadata,
        session_id=session_id,
        occurred_at=occurred_at,
        expires_at=expires_at,
        run_id=run_id,
    )
    key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
    if not is_visible(key):
        raise ValueError("An idempotency_key is of visible ASCII characters.")
    return Call("POST", "/store", types.Stored, body=body, headers={"Idempotency-Key": key}, status=201)


def recall(
    _own: str | None,
    /,
    query: str,
    *,
    agent_id: str | None = None,
    top_k: int | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    reference_time: datetime | None = None,
    as_of: datetime | None = None,
    recency_days: float | None = None,
    min_score: float | None = None,
    max_tokens: int | None = None,
    collapse: bool = False,
    explain: bool = False,
    for_model: bool = False,
    group_by: str | None = None,
    run_id: str | None = None,
    strict: bool | None = None,
) -> Call[types.Recall]:
    """Return the agent's memories that answer the query best.

    Args:
        query: At most 32 KiB in UTF-8.
        agent_id: Whose memory is asked, where that is not the client's agent.
        top_k: The most entries, 1 to 50, with ``for_model`` to 20; None: 5.
        created_after: Only what was stored later than this.
        created_before: Only what was stored earlier than this.
        metadata: Only memories with an equal value of the same type for each of these keys.
        reference_time: What ``yesterday`` is counted from, where that is not now.
        as_of: Recall what had happened, and held, at this moment; None: now.
        recency_days: Prefer recent memories: the age at which the preference has halved.
        min_score: The least score of an entry, 0 to 1.
        max_tokens: The most tokens of all content together, about.
        collapse: Give copies once.
        explain: Tell what each score is made of.
        for_model: Leave out what a program keeps for itself: memories with the metadata key ``store.key``.
        group_by: ``session``: put the entries of a session together, so that ``top_k`` counts sessions.
        run_id: The run that recalls: its replay then tells of it.
        strict: Raise the error of the embedder, of the index or of the index of words where one is away; False: take
            what the others find, which ``degraded`` tells. None: as the operator of the service has set it.

    Raises:
        InvalidRequest: a field is over its limits.
        QuotaExceeded: there were too many calls, or too many for the embedder of a strict recall.
        Unavailable: there is no answer, since an outage is never an empty one.
    """
    asked = given(
        agent_id=one_agent(agent_id, _own),
        query=query,
        top_k=top_k,
        filter=given(created_after=created_after, created_before=created_before, metadata=metadata) or None,
        reference_time=reference_time,
        as_of=as_of,
        recency_days=recency_days,
        min_score=min_score,
        max_tokens=max_tokens,
        collapse=collapse or None,
        explain=explain or None,
        for_model=for_model or None,
        group_by=group_by,
        run_id=run_id,
        strict=strict,
    )
    return Call("POST", "/recall", types.Recall, body=asked)


def explain(
    _own: str | None,
    /,
    query: str,
    memory_id: str,
    *,
    agent_id: str | None = None,
    top_k: int | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    reference_time: datetime | None = None,
    as_of: datetime | None = None,
    recency_days: float | None = None,
    min_score: float | None = None,
    max_tokens: int | None = None,
    collapse: bool = False,
    strict: bool | None = None,
) -> Call[types.Explanation]:
    """Tell why a memory is, or is not, in the answer of a recall, and which least change would return it.

    Args:
        query: What the recall asks; so with all that follows ``memory_id``.
        memory_id: The memory in question.
        agent_id: Whose memory is asked, where that is not the client's agent.
        top_k: As in a recall.
        created_after: As in a recall.
        created_before: As in a recall.
        metadata: As in a recall.
        reference_time: As in a recall.
        as_of: As in a recall.
        recency_days: As in a recall.
        min_score: As in a recall.
        max_tokens: As in a recall.
        collapse: As in a recall.
        strict: As in a recall.

    Raises:
        NotFound: the agent has no such memory.
        InvalidRequest: a field is over its limits, or the id has not the form of one.
        Unavailable: there is no answer.
    """
    asked = recall(
        _own,
        query,
        agent_id=agent_id,
        top_k=top_k,
        created_after=created_after,
        created_before=created_before,
        metadata=metadata,
        reference_time=reference_time,
        as_of=as_of,
        recency_days=recency_days,
        min_score=min_score,
        max_tokens=max_tokens,
        collapse=collapse,
        strict=strict,
    )
    return Call("POST", "/recall/explain", types.Explanation, body={**(asked.body or {}), "memory_id": memory_id})


def list_memories(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    every_agent: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
    written_by: str | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Call[types.Page]:
    """List memories, newest first, as an administrator or with a credential for one agent alone.

    Args:
        agent_id: Whose memories, where that is not the client's agent.
        every_agent: List those of all agents that the credential may look at, as does a client without an agent.
        limit: The most memories of one page, 1 to 100; None: 20.
        cursor: Of the page before, to the same question; good for 24 hours.
        written_by: Only what the credential with this id has written.
        created_after: Only what was stored later than this.
        created_before: Only what was stored earlier than this.
        metadata: Only memories with an equal value of the same type for each of these keys.

    Raises:
        InvalidRequest: a field is over its limits, or the listing has to start again (``invalid_cursor``).
        Unavailable: there is no answer.
    """
    query = given(
        agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
        limit=None if limit is None else str(limit),
        cursor=cursor,
        written_by=written_by,
        created_after=created_after,
        created_before=created_before,
        metadata=None if metadata is None else json.dumps(dict(metadata), allow_nan=False),
    )
    return Call("GET", "/memories", types.Page, query=query)


def get_memory(_own: str | None, /, memory_id: str, *, agent_id: str | None = None) -> Call[types.Memory]:
    """Return a memory with everything that was stored of it.

    Args:
        memory_id: Which.
        agent_id: Whose it is, where that is not the client's agent.

    Raises:
        NotFound: the agent has no such memory.
        InvalidRequest: the id has not the form of one.
        Unavailable: there is no answer.
    """
    query = {"agent_id": one_agent(agent_id, _own)}
    return Call("GET", f"/memories/{segment(memory_id)}", types.Memory, query=query)


def delete_memory(_own: str | None, /, memory_id: str, *, agent_id: str | None = None) -> Call[None]:
    """Delete a memory, as an administrator. One that is not there is no error.

    Args:
        memory_id: Which.
        agent_id: Whose it is, where that is not the client's agent.

    Raises:
        InvalidRequest: the id has not the form of one.
        Unavailable: it may be deleted; deleting it again is safe.
    """
    query = {"agent_id": one_agent(agent_id, _own)}
    return Call("DELETE", f"/memories/{segment(memory_id)}", NoneType, query=query, status=204)


def forget(_own: str | None, /, memory_id: str, *, agent_id: str | None = None) -> Call[types.Remembered]:
    """Mark a memory as forgotten, so that no recall finds it, and return it. ``unforget`` takes that back.

    Args:
        memory_id: Which.
        agent_id: Whose it is, where that is not the client's agent.

    Raises:
        NotFound: the agent has no such memory.
        Conflict: another memory says what holds now in place of this one; nothing was changed.
        InvalidRequest: the id has not the form of one.
        Unavailable: it may be forgotten; forgetting it again is safe.
    """
    profile = segment(one_agent(agent_id, _own))
    return Call("POST", f"/profiles/{profile}/memories/{segment(memory_id)}/forget", types.Remembered)


def unforget(_own: str | None, /, memory_id: str, *, agent_id: str | None = None) -> Call[types.Remembered]:
    """Take back that a memory was forgotten, and return it. One that was not stays as it is.

    Args:
        memory_id: Which.
        agent_id: Whose it is, where that is not the client's agent.

    Raises:
        NotFound: the agent has no such memory.
        InvalidRequest: the id has not the form of one.
        Unavailable: it may be remembered again; asking again is safe.
    """
    profile = segment(one_agent(agent_id, _own))
    return Call("POST", f"/profiles/{profile}/memories/{segment(memory_id)}/unforget", types.Remembered)


def undo(_own: str | None, /, credential_id: str) -> Call[types.Undone]:
    """Revoke a credential and take back all that it has written, as an administrator of all agents.

    Args:
        credential_id: Its claim ``jti``, which each memory that it wrote has in its ``source``.

    Raises:
        InvalidRequest: the id has not the form of one, or is the caller's own.
        Unavailable: some may be taken back; calling again is safe.
    """
    return Call("DELETE", f"/credentials/{segment(credential_id)}/memories", types.Undone)


def usage(_own: str | None, /, *, agent_id: str | None = None, every_agent: bool = False) -> Call[types.Usages]:
    """Tell what is used and what the limits are, to an administrator or to a credential for one agent alone.

    Args:
        agent_id: Whose usage, where that is not the client's agent.
        every_agent: That of all agents that the credential may look at, as for a client without an agent.

    Raises:
        Unavailable: there is no answer.
    """
    return Call(
        "GET",
        "/usage",
        types.Usages,
        query=given(agent_id=agent_or_every(agent_id, _own, every_agent=every_agent)),
    )


def get_agent(_own: str | None, /, *, agent_id: str | None = None) -> Call[types.AgentSettings]:
    """Tell what an agent is set to, to an administrator.

    Args:
        agent_id: Which, where that is not the client's agent.

    Raises:
        Unavailable: there is no answer.
    """
    return Call("GET", f"/agents/{segment(one_agent(agent_id, _own))}", types.AgentSettings)


def set_agent(
    _own: str | None,
    /,
    *,
    retention_days: int | EllipsisType | None = ...,
    long_term_enabled: bool | EllipsisType = ...,
    tools: str | EllipsisType = ...,
    agent_id: str | None = None,
) -> Call[types.AgentSettings]:
    """Set an agent, as an administrator. What is left out stays as it was.

    Args:
        retention_days: How long its memories live where a store does not say, from now on; None: for ever.
        long_term_enabled: Whether it has a long-term memory: without, its stores and recalls are refused.
        tools: Which tools its model is given: ``recall_store`` (recall_memory, store_memory) or ``profile`` (remember,
            recall, forget, list).
        agent_id: Which, where that is not the client's agent.

    Raises:
        InvalidRequest: a field is over its limits.
        Unavailable: it may be set; setting it again is safe.
    """
    path = f"/agents/{segment(one_agent(agent_id, _own))}"
    settings = {"retention_days": retention_days, "long_term_enabled": long_term_enabled, "tools": tools}
    said = {name: value for name, value in settings.items() if value is not ...}
    return Call("PUT", path, types.AgentSettings, body=said)


def erase_agent(_own: str | None, /, agent_id: str) -> Call[types.Operation]:
    """Begin to erase everything of an agent, as an administrator. An erasure under way is returned instead.

    Args:
        agent_id: Which; always said, never the client's agent by default.

    Raises:
        Unavailable: it may have begun.
    """
    return Call("DELETE", f"/agents/{segment(agent_id)}", types.Operation, status=202, repeatable=False)


def erase_tenant(_own: str | None, /, confirm: str) -> Call[types.Operation]:
    """Begin to erase everything of the tenant, as an administrator. An erasure under way is returned instead.

    Args:
        confirm: The tenant that the credential names, so that no other is erased by mistake.

    Raises:
        InvalidRequest: the credential names another tenant; nothing is erased.
        Unavailable: it may have begun.
    """
    return Call("DELETE", "/tenant", types.Operation, query={"confirm": confirm}, status=202, repeatable=False)


def operation(_own: str | None, /, operation_id: str) -> Call[types.Operation]:
    """Tell how far an erasure is; once it is done, with its receipt.

    Args:
        operation_id: The ``id`` of what began it.

    Raises:
        NotFound: there is no such operation.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/operations/{segment(operation_id)}", types.Operation)
