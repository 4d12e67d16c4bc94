"""The operations of working memory: the scratch state of one running copy of an agent, an instance.

Each may raise what the operations of ``calls`` raise.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

from memory_gateway_client.request import Call, conditions_of, given, one_agent, segment
from memory_gateway_client.tiers import working_types as types


def set_working(
    _own: str | None,
    /,
    instance: str,
    key: str,
    value: Any,  # noqa: ANN401 - any JSON
    *,
    agent_id: str | None = None,
    ttl_seconds: int | None = None,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[types.WorkingWritten]:
    """Set a key of an instance, for a while.

    Args:
        instance: The running copy of the agent.
        key: Which: 1 to 128 of the characters A-Z a-z 0-9 . _ : -.
        value: Any JSON.
        agent_id: Whose it is, where that is not the client's agent.
        ttl_seconds: How long it lives, 60 to 86,400; None: an hour.
        if_match: Only where the key holds what has this ``etag``; ``*``: where it holds anything.
        if_none_match: ``*``: only where it holds nothing.

    Raises:
        PreconditionFailed: the key is not as ``if_match`` or ``if_none_match`` asks; nothing was changed.
        InvalidRequest: a field is over its limits, or the instance over its budget (``content_too_large``).
        QuotaExceeded: the instance or the tenant may have no more; nothing was changed.
        Unavailable: it may be set; without conditions, setting it again is safe.
    """
    path = _path(agent_id, _own, instance, segment(key))
    return _put(types.WorkingWritten, path, value, ttl_seconds, if_match, if_none_match)


def get_working(
    _own: str | None, /, instance: str, key: str, *, agent_id: str | None = None
) -> Call[types.WorkingValue]:
    """Return what a key of an instance holds.

    Args:
        instance: The running copy of the agent.
        key: Which.
        agent_id: Whose it is, where that is not the client's agent.

    Raises:
        NotFound: there is no such key, or it has expired.
        Unavailable: there is no answer.
    """
    return Call("GET", _path(agent_id, _own, instance, segment(key)), types.WorkingValue)


def list_working(_own: str | None, /, instance: str, *, agent_id: str | None = None) -> Call[types.Working]:
    """Return all keys of an instance, and its budget.

    Args:
        instance: The running copy of the agent.
        agent_id: Whose it is, where that is not the client's agent.

    Raises:
        Unavailable: there is no answer.
    """
    return Call("GET", _path(agent_id, _own, instance), types.Working)


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
    """Delete a key of an instance. One that is not there is no error, unless ``if_match`` asks for it.

    Args:
        instance: The running copy of the agent.
        key: Which.
        agent_id: Whose it is, where that is not the client's agent.
        if_match: As in ``set_working``.
        if_none_match: As in ``set_working``.

    Raises:
        PreconditionFailed: the key is not as ``if_match`` or ``if_none_match`` asks; nothing was deleted.
        Unavailable: it may be deleted; without conditions, deleting it again is safe.
    """
    path, conditions = _path(agent_id, _own, instance, segment(key)), conditions_of(if_match, if_none_match)
    return Call("DELETE", path, NoneType, headers=conditions, status=204, repeatable=not conditions)


def set_turn_state(
    _own: str | None,
    /,
    run_id: str,
    value: Any,  # noqa: ANN401 - any JSON
    *,
    ttl_seconds: int | None = None,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[types.TurnStateWritten]:
    """Set the turn state of a run, for a while. It counts in the budget of the instance that is named as the run.

    Args:
        run_id: Which run.
        value: Any JSON.
        ttl_seconds: How long it lives, 60 to 86,400; None: an hour.
        if_match: Only where the state has this ``etag``; ``*``: where there is one.
        if_none_match: ``*``: only where there is none.

    Raises:
        NotFound: there is no such run.
        PreconditionFailed: the state is not as ``if_match`` or ``if_none_match`` asks; nothing was changed.
        InvalidRequest: a field is over its limits, or the instance over its budget (``content_too_large``).
        Unavailable: it may be set; without conditions, setting it again is safe.
    """
    path = f"/runs/{segment(run_id)}/state"
    return _put(types.TurnStateWritten, path, value, ttl_seconds, if_match, if_none_match)


def get_turn_state(_own: str | None, /, run_id: str) -> Call[types.TurnState]:
    """Return the turn state of a run.

    Args:
        run_id: Which run.

    Raises:
        NotFound: there is no such run, or it has no state.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/runs/{segment(run_id)}/state", types.TurnState)


def append_run_log(
    _own: str | None, /, run_id: str, entries: Sequence[Mapping[str, Any]], *, ttl_seconds: int | None = None
) -> Call[types.RunLogAppended]:
    """Append entries to the log of a run.

    Args:
        run_id: Which run.
        entries: JSON objects, 1 to 100.
        ttl_seconds: How long they live, 60 to 86,400; None: an hour.

    Raises:
        NotFound: there is no such run.
        InvalidRequest: a field is over its limits, or the log is full (``content_too_large``).
        Unavailable: they may be appended.
    """
    body = given(entries=[dict(entry) for entry in entries], ttl_seconds=ttl_seconds)
    path = f"/runs/{segment(run_id)}/log"
    return Call("POST", path, types.RunLogAppended, body=body, status=201, repeatable=False)


def run_log(
    _own: str | None, /, run_id: str, *, limit: int | None = None, after: int | None = None
) -> Call[types.RunLog]:
    """Return the log of a run, oldest first.

    Args:
        run_id: Which run.
        limit: The most entries of one page, 1 to 100; None: 100.
        after: Only entries with a higher number.

    Raises:
        NotFound: there is no such run.
        Unavailable: there is no answer.
    """
    query = given(limit=None if limit is None else str(limit), after=None if after is None else str(after))
    return Call("GET", f"/runs/{segment(run_id)}/log", types.RunLog, query=query)


def append_messages(
    _own: str | None,
    /,
    instance: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    agent_id: str | None = None,
    ttl_seconds: int | None = None,
) -> Call[types.MessagesAppended]:
    """Append messages to the window of an instance. The same messages again change nothing.

    Args:
        instance: The running copy of the agent; the session of the messages in long-term memory.
        messages: 1 to 100, each with ``role``, ``content`` and, where that is not now, ``occurred_at`` (a datetime),
            and where you know it ``tokens``, as your model counts.
        agent_id: Whose it is, where that is not the client's agent.
        ttl_seconds: After how long without an append all of it is moved into long-term memory; None: an hour.

    Raises:
        InvalidRequest: a field is over its limits, or the window is full, since nothing can be moved into long-term
            memory (``content_too_large``).
        QuotaExceeded: the tenant may have no more instances; nothing was appended.
        Unavailable: they may be appended; appending them again is safe.
    """
    said = [given(**message) for message in messages]
    path = _path(agent_id, _own, instance, "messages")
    return Call("POST", path, types.MessagesAppended, body=given(messages=said, ttl_seconds=ttl_seconds), status=201)


def window(
    _own: str | None, /, instance: str, *, agent_id: str | None = None, max_tokens: int | None = None
) -> Call[types.Window]:
    """Return the newest messages of an instance that fit, oldest first, and summaries of what fell out before them.

    Args:
        instance: The running copy of the agent.
        agent_id: Whose it is, where that is not the client's agent.
        max_tokens: The most tokens of all messages together, 1 to 200,000; None: as many as a window keeps.

    Raises:
        Unavailable: there is no answer.
    """
    query = given(max_tokens=None if max_tokens is None else str(max_tokens))
    return Call("GET", _path(agent_id, _own, instance, "window"), types.Window, query=query)


def _path(agent_id: str | None, own: str | None, instance: str, *rest: str) -> str:
    return "/".join(["/working", segment(one_agent(agent_id, own)), segment(instance), *rest])


def _put(
    answer: Any,  # noqa: ANN401 - a type
    path: str,
    value: Any,  # noqa: ANN401 - any JSON
    ttl_seconds: int | None,
    if_match: str | None,
    if_none_match: str | None,
) -> Call[Any]:
    """Return the call that sets a value: conditions make it one that is not sent again."""
    body = {"value": value, **given(ttl_seconds=ttl_seconds)}
    conditions = conditions_of(if_match, if_none_match)
    return Call("PUT", path, answer, body=body, headers=conditions, also=(201,), repeatable=not conditions)
