"""Operations: working memory.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from memory_gateway_client.agents import one_agent
from memory_gateway_client.request import (
    Call,
    asked,
    conditions_of,
    given,
    items,
    segment,
)
from memory_gateway_client.types import (
    AppendedMessage,
    MessagesAppended,
    RunLog,
    RunLogAppended,
    TurnState,
    TurnStateWritten,
    Window,
    Working,
    WorkingValue,
    WorkingWritten,
)


def set_working(
    _own: str | None,
    /,
    instance: str,
    key: str,
    value: Any,
    *,
    agent_id: str | None = None,
    if_match: str | None = None,
    if_none_match: str | None = None,
    ttl_seconds: int | None = None,
) -> Call[WorkingWritten]:
    """Set a key of an instance, for a while. The headers make it a compare-and-set.

    Args:
        instance: One running copy of the agent.
        key: The key.
        value: Any JSON, nested at most 16 deep. All keys and values of the instance have at most 131072 bytes.
        agent_id: The agent, where that is not the client's.
        if_match: Change it only where its ETag is one of these; ``*``: where there is one.
        if_none_match: ``*``: change it only where there is none.
        ttl_seconds: How long it lives from now on, in seconds. From 60 to 86,400. Left out: ``3600``.

    Raises:
        Conflict: ``erasing``.
        PreconditionFailed: ``precondition_failed``.
    """
    return Call(
        "PUT",
        f"/working/{segment(one_agent(agent_id, _own))}/{segment(instance)}/{segment(key)}",
        WorkingWritten,
        body={"value": value} | given(ttl_seconds=ttl_seconds),
        headers=conditions_of(if_match, if_none_match),
        repeatable=if_match is None and if_none_match is None,
        also=(201,),
    )


def get_working(
    _own: str | None,
    /,
    instance: str,
    key: str,
    *,
    agent_id: str | None = None,
) -> Call[WorkingValue]:
    """Return what a key of an instance holds.

    Args:
        instance: One running copy of the agent.
        key: The key.
        agent_id: The agent, where that is not the client's.

    Raises:
        NotFound: ``blob_gone``.
    """
    return Call(
        "GET",
        f"/working/{segment(one_agent(agent_id, _own))}/{segment(instance)}/{segment(key)}",
        WorkingValue,
    )


def delete_working(
    _own: str | None,
    /,
    instance: str,
    key: str,
    *,
    agent_id: str | None = None,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[None]:
    """Delete a key of an instance. One that is not there is no error, unless ``If-Match`` asks for it.

    Args:
        instance: One running copy of the agent.
        key: The key.
        agent_id: The agent, where that is not the client's.
        if_match: Change it only where its ETag is one of these; ``*``: where there is one.
        if_none_match: ``*``: change it only where there is none.

    Raises:
        Conflict: ``erasing``.
        PreconditionFailed: ``precondition_failed``.
    """
    return Call(
        "DELETE",
        f"/working/{segment(one_agent(agent_id, _own))}/{segment(instance)}/{segment(key)}",
        NoneType,
        headers=conditions_of(if_match, if_none_match),
        repeatable=if_match is None and if_none_match is None,
        status=204,
    )


def list_working(
    _own: str | None,
    /,
    instance: str,
    *,
    agent_id: str | None = None,
) -> Call[Working]:
    """Return all keys of an instance with what they hold, and its budget. Over 100,000 bytes it is a pointer.

    Args:
        instance: One running copy of the agent.
        agent_id: The agent, where that is not the client's.
    """
    return Call(
        "GET",
        f"/working/{segment(one_agent(agent_id, _own))}/{segment(instance)}",
        Working,
    )


def set_turn_state(
    _own: str | None,
    /,
    run_id: str,
    value: Any,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
    ttl_seconds: int | None = None,
) -> Call[TurnStateWritten]:
    """Set the turn state of a run, for a while. The headers make it a compare-and-set.

    Args:
        run_id: The run.
        value: Any JSON, nested at most 16 deep. All keys and values of the instance have at most 131072 bytes.
        if_match: Change it only where its ETag is one of these; ``*``: where there is one.
        if_none_match: ``*``: change it only where there is none.
        ttl_seconds: How long it lives from now on, in seconds. From 60 to 86,400. Left out: ``3600``.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``not_found``.
        PreconditionFailed: ``precondition_failed``.
    """
    return Call(
        "PUT",
        f"/runs/{segment(run_id)}/state",
        TurnStateWritten,
        body={"value": value} | given(ttl_seconds=ttl_seconds),
        headers=conditions_of(if_match, if_none_match),
        repeatable=if_match is None and if_none_match is None,
        also=(201,),
    )


def get_turn_state(
    _own: str | None,
    /,
    run_id: str,
) -> Call[TurnState]:
    """Return the turn state of a run.

    Args:
        run_id: The run.

    Raises:
        NotFound: ``blob_gone``.
    """
    return Call(
        "GET",
        f"/runs/{segment(run_id)}/state",
        TurnState,
    )


def append_run_log(
    _own: str | None,
    /,
    run_id: str,
    entries: Sequence[Mapping[str, Any]],
    *,
    ttl_seconds: int | None = None,
) -> Call[RunLogAppended]:
    """Append entries to the log of a run.

    Args:
        run_id: The run.
        entries: Any JSON objects. A run's log holds at most 1048576 bytes of them.
        ttl_seconds: How long it lives from now on, in seconds. From 60 to 86,400. Left out: ``3600``.

    Raises:
        Conflict: ``erasing``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/runs/{segment(run_id)}/log",
        RunLogAppended,
        body=given(entries=entries, ttl_seconds=ttl_seconds),
        status=201,
        repeatable=False,
    )


def run_log(
    _own: str | None,
    /,
    run_id: str,
    *,
    limit: int | None = None,
    after: int | None = None,
) -> Call[RunLog]:
    """Return the log of a run, oldest first.

    Args:
        run_id: The run.
        limit: From 1 to 100. Left out: ``100``.
        after: Only entries with a higher number. Left out: ``0``.

    Raises:
        NotFound: ``not_found``.
    """
    return Call(
        "GET",
        f"/runs/{segment(run_id)}/log",
        RunLog,
        query=asked(limit=limit, after=after),
    )


def append_messages(
    _own: str | None,
    /,
    instance: str,
    messages: Sequence[AppendedMessage | Mapping[str, Any]],
    *,
    agent_id: str | None = None,
    ttl_seconds: int | None = None,
) -> Call[MessagesAppended]:
    """Append messages to the window of an instance. The same messages again change nothing.

    What the window does not keep falls out of it into the agent's long-term memory, and is summed up, after the answer.

    Args:
        instance: One running copy of the agent.
        messages: What was said, in its order.
        agent_id: The agent, where that is not the client's.
        ttl_seconds: After how many seconds without an append the window is moved into long-term memory as a whole. From
            60 to 86,400. Left out: ``3600``.

    Raises:
        Conflict: ``erasing``.
    """
    return Call(
        "POST",
        f"/working/{segment(one_agent(agent_id, _own))}/{segment(instance)}/messages",
        MessagesAppended,
        body=given(messages=items(messages), ttl_seconds=ttl_seconds),
        status=201,
    )


def window(
    _own: str | None,
    /,
    instance: str,
    *,
    agent_id: str | None = None,
    max_tokens: int | None = None,
) -> Call[Window]:
    """Return the newest messages of an instance that fit into so many tokens, oldest first.

    Beside them are summaries of what fell out of the window before, with the memories that it is now.

    Args:
        instance: One running copy of the agent.
        agent_id: The agent, where that is not the client's.
        max_tokens: The most tokens of all messages together. Absent: as many as a window keeps. From 1 to 200,000.
    """
    return Call(
        "GET",
        f"/working/{segment(one_agent(agent_id, _own))}/{segment(instance)}/window",
        Window,
        query=asked(max_tokens=max_tokens),
    )
