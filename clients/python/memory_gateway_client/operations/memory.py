"""Operations: memory.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping
from datetime import datetime
from types import EllipsisType, NoneType
from typing import Any

from memory_gateway_client.agents import one_agent
from memory_gateway_client.request import (
    Call,
    asked,
    given,
    once,
    partly,
    segment,
)
from memory_gateway_client.types import DeletedMemories, Explanation, Memory, Operation, Recall, Stored


def store(
    _own: str | None,
    /,
    content: str,
    *,
    idempotency_key: str | None = None,
    agent_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    session_id: str | None = None,
    occurred_at: datetime | None = None,
    expires_at: datetime | None = None,
    run_id: str | None = None,
) -> Call[Stored]:
    """Store a memory. The same content again, for the same session and time, is the same memory.

    Args:
        content: At most 32768 bytes in UTF-8.
        idempotency_key: Names this request, for 24 hours and this agent: sent again with the same body it changes
            nothing and is answered as stored; with another body it is refused.
        agent_id: The agent, where that is not the client's.
        metadata: At most 10240 bytes as JSON, nested at most 8 deep.
        session_id: The conversation it comes from, at most 256 bytes.
        occurred_at: When it happened, where that is not now.
        expires_at: When it is forgotten, in the future. Absent: as its agent is set, which is never at first.
        run_id: The run that this is done under: its log tells of it, and ``POST /undo`` of the run takes it back.

    Raises:
        Conflict: ``erasing``, ``long_term_disabled``, ``idempotency_key_reused``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/store",
        Stored,
        body=given(
            agent_id=one_agent(agent_id, _own),
            content=content,
            metadata=metadata,
            session_id=session_id,
            occurred_at=occurred_at,
            expires_at=expires_at,
            run_id=run_id,
        ),
        headers=once(idempotency_key),
        status=201,
    )


def change_memory(
    _own: str | None,
    /,
    memory_id: str,
    *,
    agent_id: str | None = None,
    metadata: Mapping[str, Any] | EllipsisType = ...,
    expires_at: datetime | EllipsisType | None = ...,
    occurred_at: datetime | EllipsisType | None = ...,
) -> Call[Memory]:
    """Change what is said beside a memory's content, as an administrator: metadata, moment, end of life.

    The content is corrected by storing what holds now. The memory keeps its id, and it counts as a store.

    Args:
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.
        metadata: Keys to set, or with null to take away. The others stay. At most 10240 bytes.
        expires_at: When it is forgotten, in the future; null: never.
        occurred_at: When it happened; null: that is not known.

    Raises:
        Conflict: ``conflict``, ``superseded``, ``erasing``, ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "PATCH",
        f"/memories/{segment(memory_id)}",
        Memory,
        query=asked(agent_id=one_agent(agent_id, _own)),
        body=partly(metadata=metadata, expires_at=expires_at, occurred_at=occurred_at),
    )


def delete_memory(
    _own: str | None,
    /,
    memory_id: str,
    *,
    agent_id: str | None = None,
) -> Call[None]:
    """Delete a memory, as an administrator. One that is not there is no error.

    Args:
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.
    """
    return Call(
        "DELETE",
        f"/memories/{segment(memory_id)}",
        NoneType,
        query=asked(agent_id=one_agent(agent_id, _own)),
        status=204,
    )


def delete_memories(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
    written_by: str | None = None,
    dry_run: bool = True,
    confirm: int | None = None,
) -> Call[DeletedMemories]:
    """Delete the memories of an agent that pass a filter, as an administrator; at first only count them.

    Ask with ``dry_run``, then again with the number in ``confirm``. One call deletes 2,000 at most: while ``left`` is
    not 0, confirm that number.

    Args:
        agent_id: The agent, where that is not the client's.
        created_after: Stored later than this.
        created_before: Stored earlier than this.
        metadata: Each key must be present with an equal value of the same type.
        written_by: Only what the credential with this id has written.
        dry_run: Only count them; ``false`` deletes them.
        confirm: How many there are, as the dry run has counted them, or ``left`` of the answer before. From 0 to
            100,001.

    Raises:
        Conflict: ``conflict``.
    """
    return Call(
        "POST",
        "/deletions",
        DeletedMemories,
        body=given(
            agent_id=one_agent(agent_id, _own),
            written_by=written_by,
            dry_run=dry_run,
            confirm=confirm,
            filter=given(created_after=created_after, created_before=created_before, metadata=metadata) or None,
        ),
        repeatable=False,
    )


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
    collapse: bool | None = None,
    strict: bool | None = None,
    explain: bool = False,
    for_model: bool = False,
    group_by: str | None = None,
    run_id: str | None = None,
) -> Call[Recall]:
    """Return the agent's memories that answer the query best.

    Args:
        query: At most 32768 bytes in UTF-8.
        agent_id: The agent, where that is not the client's.
        top_k: The most entries to return; 20 with ``for_model``. From 1 to 50. Left out: ``5``.
        created_after: Stored later than this.
        created_before: Stored earlier than this.
        metadata: Each key must be present with an equal value of the same type.
        reference_time: What ``yesterday`` and ``last week`` are counted from, where that is not now.
        as_of: Recall as of this moment: only what had happened by then, and of corrected statements the one that held
            then. Absent: what holds now. Where there is no ``reference_time``, ``yesterday`` is counted from it.
        recency_days: Prefer recent memories: the age in days at which the preference has halved. Absent: how recent a
            memory is decides between equal scores alone.
        min_score: The least score of an entry. Left out: ``0.0``.
        max_tokens: The most tokens of all content together, about: one is four ASCII characters, or one other
            character. A memory that does not fit gives way to a shorter one behind it.
        collapse: Give memories that say the same once, in the same words or in others: the newest, with the others in
            ``also``. Absent: as ``for_model``.
        strict: Where the embedder, the index or the index of words is away, answer with its error, such as 429 with
            ``Retry-After``. With false the answer is what the others find, and ``degraded`` says so. Absent: as the
            operator has set it, which is false at first.
        explain: Tell what each score is made of.
        for_model: A model reads the entries: leave out what a program keeps for itself, which are memories with the
            metadata key ``store.key``. The tool ``recall_memory`` of the MCP server always does.
        group_by: Put the entries of a session together: ``top_k`` then counts sessions, of each of which at most 5
            entries are returned, and ``groups`` tells how likely one of these answers. A memory without a session is a
            group of its own. There may be fewer groups than ``top_k`` though there are more sessions. Absent: each
            entry stands alone. One of ``session``.
        run_id: The run that recalls: its replay then tells of it. Whether there is such a run is not looked up, so that
            a recall costs no more.

    Raises:
        Conflict: ``long_term_disabled``.
    """
    return Call(
        "POST",
        "/recall",
        Recall,
        body=given(
            agent_id=one_agent(agent_id, _own),
            query=query,
            top_k=top_k,
            reference_time=reference_time,
            as_of=as_of,
            recency_days=recency_days,
            min_score=min_score,
            max_tokens=max_tokens,
            collapse=collapse,
            strict=strict,
            explain=explain or None,
            for_model=for_model or None,
            group_by=group_by,
            run_id=run_id,
            filter=given(created_after=created_after, created_before=created_before, metadata=metadata) or None,
        ),
    )


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
    collapse: bool | None = None,
    strict: bool | None = None,
) -> Call[Explanation]:
    """Tell why a memory is, or is not, in the answer of a recall, and which least change would return it.

    Args:
        query: At most 32768 bytes in UTF-8.
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.
        top_k: The most entries to return; 20 with ``for_model``. From 1 to 50. Left out: ``5``.
        created_after: Stored later than this.
        created_before: Stored earlier than this.
        metadata: Each key must be present with an equal value of the same type.
        reference_time: What ``yesterday`` and ``last week`` are counted from, where that is not now.
        as_of: Recall as of this moment: only what had happened by then, and of corrected statements the one that held
            then. Absent: what holds now. Where there is no ``reference_time``, ``yesterday`` is counted from it.
        recency_days: Prefer recent memories: the age in days at which the preference has halved. Absent: how recent a
            memory is decides between equal scores alone.
        min_score: The least score of an entry. Left out: ``0.0``.
        max_tokens: The most tokens of all content together, about: one is four ASCII characters, or one other
            character. A memory that does not fit gives way to a shorter one behind it.
        collapse: Give memories that say the same once, in the same words or in others: the newest, with the others in
            ``also``. Absent: as ``for_model``.
        strict: Where the embedder, the index or the index of words is away, answer with its error, such as 429 with
            ``Retry-After``. With false the answer is what the others find, and ``degraded`` says so. Absent: as the
            operator has set it, which is false at first.

    Raises:
        Conflict: ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/recall/explain",
        Explanation,
        body=given(
            agent_id=one_agent(agent_id, _own),
            query=query,
            top_k=top_k,
            reference_time=reference_time,
            as_of=as_of,
            recency_days=recency_days,
            min_score=min_score,
            max_tokens=max_tokens,
            collapse=collapse,
            strict=strict,
            memory_id=memory_id,
            filter=given(created_after=created_after, created_before=created_before, metadata=metadata) or None,
        ),
    )


def erase_agent(
    _own: str | None,
    /,
    agent_id: str,
) -> Call[Operation]:
    """Begin to erase everything of an agent, as an administrator. An erasure under way is returned instead.

    Args:
        agent_id: The agent whose memory this is.
    """
    return Call(
        "DELETE",
        f"/agents/{segment(agent_id)}",
        Operation,
        status=202,
        repeatable=False,
    )


def erase_tenant(
    _own: str | None,
    /,
    confirm: str,
) -> Call[Operation]:
    """Begin to erase everything of the tenant, as an administrator. An erasure under way is returned instead.

    ``confirm`` names the tenant once more, so that a credential that was taken by mistake erases nothing.

    Args:
        confirm: The tenant that the credential names. Any other value is refused, and nothing is erased.
    """
    return Call(
        "DELETE",
        "/tenant",
        Operation,
        query=asked(confirm=confirm),
        status=202,
        repeatable=False,
    )


def operation(
    _own: str | None,
    /,
    operation_id: str,
) -> Call[Operation]:
    """Tell how far an erasure is; once it is done, with its receipt.

    Args:
        operation_id: Which operation.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/operations/{segment(operation_id)}",
        Operation,
    )
