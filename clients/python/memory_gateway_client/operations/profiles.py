"""Operations: profiles.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_gateway_client.agents import one_agent
from memory_gateway_client.request import (
    Call,
    asked,
    given,
    items,
    segment,
)
from memory_gateway_client.types import (
    Ingested,
    Ingestion,
    IngestMessage,
    ProfileMemory,
    ProfilePage,
    ProfileRecall,
    Remembered,
    SessionDeleted,
    Summary,
)


def remember(
    _own: str | None,
    /,
    content: str,
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    occurred_at: datetime | None = None,
    expires_at: datetime | None = None,
    run_id: str | None = None,
) -> Call[Remembered]:
    """Remember something. The same content again, for the same session and time, is the same memory.

    Args:
        content: At most 32768 bytes in UTF-8.
        agent_id: The agent, where that is not the client's.
        session_id: The conversation it comes from.
        occurred_at: When it happened, where that is not now.
        expires_at: When it is dropped, in the future. Absent: what the reader calls a task and names its day, after
            that day and seven days; anything else as its agent is set.
        run_id: The run that remembers: its log tells of it, and its undo takes it back.

    Raises:
        Conflict: ``erasing``, ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/remember",
        Remembered,
        body=given(
            content=content, session_id=session_id, occurred_at=occurred_at, expires_at=expires_at, run_id=run_id
        ),
        status=201,
    )


def recall_profile(
    _own: str | None,
    /,
    query: str,
    *,
    agent_id: str | None = None,
    run_id: str | None = None,
    reference_time: datetime | None = None,
    thinking_level: str | None = None,
    response_length: str | None = None,
    explain: bool = False,
) -> Call[ProfileRecall]:
    """Answer a question with what the profile's memories say, and name the memories that the answer may rest on.

    Args:
        query: At most 1024 bytes in UTF-8.
        agent_id: The agent, where that is not the client's.
        run_id: The run that recalls: its log and its replay tell of it.
        reference_time: What ``yesterday`` and ``last week`` are counted from, where that is not now.
        thinking_level: How many candidates a language model answers from: 10, 20 or 40, from ``medium`` on also what is
            near a hypothetical answer. It has no effect without a language model. One of ``low``, ``medium``, ``high``.
            Left out: ``low``.
        response_length: How long the answer may be: of a language model 80, 200 or 500 tokens. Without one it is also
            how many entries there are at most: 5, 10 or 20. One of ``short``, ``medium``, ``long``. Left out:
            ``medium``.
        explain: Whether entries tell what their score is made of.

    Raises:
        Conflict: ``long_term_disabled``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/recall",
        ProfileRecall,
        body=given(
            query=query,
            run_id=run_id,
            reference_time=reference_time,
            thinking_level=thinking_level,
            response_length=response_length,
            explain=explain or None,
        ),
    )


def list_profile(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
    type: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[ProfilePage]:
    """List what holds of a profile's memories, newest first.

    Args:
        agent_id: The agent, where that is not the client's.
        session_id: Only of this conversation.
        type: Only of this type. One of ``fact``, ``instruction``, ``event``, ``task``.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.

    Raises:
        Conflict: ``long_term_disabled``.
    """
    return Call(
        "GET",
        f"/profiles/{segment(one_agent(agent_id, _own))}/memories",
        ProfilePage,
        query=asked(session_id=session_id, type=type, limit=limit, cursor=cursor),
    )


def get_profile_memory(
    _own: str | None,
    /,
    memory_id: str,
    *,
    agent_id: str | None = None,
) -> Call[ProfileMemory]:
    """Return a memory, with who stated what before and after it and the message that it is.

    Args:
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.

    Raises:
        Conflict: ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/profiles/{segment(one_agent(agent_id, _own))}/memories/{segment(memory_id)}",
        ProfileMemory,
    )


def forget(
    _own: str | None,
    /,
    memory_id: str,
    *,
    agent_id: str | None = None,
) -> Call[Remembered]:
    """Forget a memory: no recall finds it, nor what it had replaced, until that is taken back.

    Args:
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.

    Raises:
        Conflict: ``long_term_disabled``, ``superseded``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/memories/{segment(memory_id)}/forget",
        Remembered,
    )


def unforget(
    _own: str | None,
    /,
    memory_id: str,
    *,
    agent_id: str | None = None,
) -> Call[Remembered]:
    """Take back that a memory was forgotten. One that was not stays as it is.

    Args:
        memory_id: Which memory.
        agent_id: The agent, where that is not the client's.

    Raises:
        Conflict: ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/memories/{segment(memory_id)}/unforget",
        Remembered,
    )


def summary(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    session_id: str | None = None,
) -> Call[Summary]:
    """Summarise what holds, in the words of the newest 200 memories. It counts as a recall.

    Args:
        agent_id: The agent, where that is not the client's.
        session_id: Only this conversation, at most 256 bytes. Absent: all.

    Raises:
        Conflict: ``long_term_disabled``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/summary",
        Summary,
        body=given(session_id=session_id),
    )


def delete_session(
    _own: str | None,
    /,
    session_id: str,
    *,
    agent_id: str | None = None,
) -> Call[SessionDeleted]:
    """Delete all memories of a session, as an administrator. One that is not there is no error.

    Args:
        session_id: The conversation.
        agent_id: The agent, where that is not the client's.
    """
    return Call(
        "DELETE",
        f"/profiles/{segment(one_agent(agent_id, _own))}/sessions/{segment(session_id)}",
        SessionDeleted,
    )


def ingest(
    _own: str | None,
    /,
    messages: Sequence[IngestMessage | Mapping[str, Any]],
    *,
    agent_id: str | None = None,
    dry_run: bool = False,
    session_id: str | None = None,
    run_id: str | None = None,
) -> Call[Ingested]:
    """Take a conversation: each message becomes a memory.

    The same messages again change nothing, as the answer says.

    What takes longer than 20 seconds, or has to wait for a part of the service, is answered with 202 and the same
    fields: the operation tells when the messages that wait are memories. What a language model learns of the messages,
    where one is set, comes after the answer: the operation tells it.

    Args:
        messages: What was said, in its order.
        agent_id: The agent, where that is not the client's.
        dry_run: Show what would become of the messages and what a language model would learn, and write nothing. What
            it would take more than 16 passes to read is refused; what it has not answered within 45 seconds has failed.
            What it costs counts.
        session_id: The conversation that they are of, at most 64 bytes. Absent: made of what they say, so that the same
            messages are of the same session.
        run_id: The run that this is done under: its log tells of it, and ``POST /undo`` of the run takes it back.

    Raises:
        Conflict: ``erasing``, ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/ingest",
        Ingested,
        query=asked(dry_run=dry_run or None),
        body=given(session_id=session_id, run_id=run_id, messages=items(messages)),
        also=(202,),
    )


def ingestion(
    _own: str | None,
    /,
    operation_id: str,
    *,
    agent_id: str | None = None,
) -> Call[Ingestion]:
    """Tell how far an ingestion of the profile is, and what a language model has learned of its messages.

    Args:
        operation_id: Which operation.
        agent_id: The agent, where that is not the client's.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/profiles/{segment(one_agent(agent_id, _own))}/operations/{segment(operation_id)}",
        Ingestion,
    )


def retry(
    _own: str | None,
    /,
    operation_id: str,
    *,
    agent_id: str | None = None,
) -> Call[Ingestion]:
    """Learn again what a language model has failed to learn of an ingestion; where nothing has failed, do nothing.

    Messages that were not stored have to be sent again. What the undo of its run has ended stays ended.

    Args:
        operation_id: Which operation.
        agent_id: The agent, where that is not the client's.

    Raises:
        Conflict: ``operation_running``, ``erasing``, ``long_term_disabled``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/profiles/{segment(one_agent(agent_id, _own))}/operations/{segment(operation_id)}/retry",
        Ingestion,
        also=(202,),
    )
