"""The operations of runs and episodes, in the form of ``memory_gateway_client.calls``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_gateway_client.request import Call, agent_or_every, given, one_agent, segment
from memory_gateway_client.tiers import episodic_types as types
from memory_gateway_client.tiers.ulids import new_ulid


def start_run(
    _own: str | None,
    /,
    agent_type: str,
    input: Any,  # noqa: A002, ANN401 - the field's name, and any JSON
    *,
    agent_id: str | None = None,
    run_id: str | None = None,
    episodes: int | None = None,
    parent_run_id: str | None = None,
    handed_over: Any = None,  # noqa: ANN401 - any JSON
) -> Call[types.StartedRun]:
    """Begin a run of an agent, and be given the last episodes of its agent type.

    Args:
        agent_type: What kind of agent it is: agents of one type learn of each other's episodes.
        input: What it is started with, any JSON of at most 200 KiB.
        agent_id: Which agent, where that is not the client's.
        run_id: A ULID by which the same run begun again is the same run; None: a fresh one.
        episodes: How many episodes it is given, 0 to 50; None: 10.
        parent_run_id: The run that delegates it, which has to be running; None: none does.
        handed_over: What that run gives it to know, any JSON of at most 8 KiB; None: nothing.

    Raises:
        InvalidRequest: a field is over its limits.
        NotFound: there is no such parent.
        Conflict: there is another run of this id, its parent has ended (``run_ended``), or the agent is being erased.
        QuotaExceeded: the tenant has as many runs as may be kept, or the parent as many above or below it.
        Unavailable: it may have begun; beginning it again with its ``run_id`` is safe.
    """
    body = given(
        agent_id=one_agent(agent_id, _own),
        agent_type=agent_type,
        run_id=run_id or new_ulid(),
        episodes=episodes,
        parent_run_id=parent_run_id,
        handed_over=handed_over,
    )
    return Call("POST", "/runs", types.StartedRun, body={**body, "input": input}, status=201)


def get_run(_own: str | None, /, run_id: str) -> Call[types.Run]:
    """Return a run.

    Args:
        run_id: Which.

    Raises:
        NotFound: there is no such run.
        InvalidRequest: the id has not the form of one.
        Unavailable: there is no answer.
    """
    return Call("GET", f"/runs/{segment(run_id)}", types.Run)


def runs(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    every_agent: bool = False,
    agent_type: str | None = None,
    status: str | None = None,
    parent_run_id: str | None = None,
    started_after: datetime | None = None,
    started_before: datetime | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[types.RunPage]:
    """List runs, newest first.

    Args:
        agent_id: Whose runs, where that is not the client's agent.
        every_agent: List those of all agents that the credential reaches, as does a client without an agent.
        agent_type: Only those of agents of this type.
        status: Only those that are ``running``, ``completed`` or ``failed``.
        parent_run_id: Only those that this run has delegated.
        started_after: Only those that started later than this.
        started_before: Only those that started earlier than this.
        limit: The most runs of one page, 1 to 100; None: 20.
        cursor: Of the page before, to the same question; good for 24 hours.

    Raises:
        InvalidRequest: a field is over its limits, or the listing has to start again (``invalid_cursor``).
        Unavailable: there is no answer.
    """
    query = given(
        agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
        agent_type=agent_type,
        status=status,
        parent_run_id=parent_run_id,
        started_after=started_after,
        started_before=started_before,
        limit=None if limit is None else str(limit),
        cursor=cursor,
    )
    return Call("GET", "/runs", types.RunPage, query=query)


def append_episode(
    _own: str | None, /, run_id: str, episodes: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> Call[types.Appended]:
    """Write what has happened in a run: one episode, or up to 100, all of them or none.

    Args:
        run_id: The run.
        episodes: Each has ``type`` and ``content`` (at most 32 KiB), and may have ``data`` (a JSON object),
            ``occurred_at`` and ``episode_id``, a ULID; an episode that the run has already stays as it is. Where there
            is no id, a fresh one is sent, so that no retry of the client writes it twice.

    Raises:
        NotFound: there is no such run.
        Conflict: the run has ended, an id is that of an episode of another run, or the agent is being erased.
        InvalidRequest: a field is over its limits.
        QuotaExceeded: the tenant may have no more episodes (``quota_exceeded``); nothing was written.
        Unavailable: they may be written; writing them again with their ids is safe.
    """
    several = [episodes] if isinstance(episodes, Mapping) else episodes
    sent = [{"episode_id": new_ulid(), **given(**each)} for each in several]
    return Call("POST", f"/runs/{segment(run_id)}/episodes", types.Appended, body={"episodes": sent}, status=201)


def complete_run(
    _own: str | None,
    /,
    run_id: str,
    output: Any = None,  # noqa: ANN401 - any JSON
) -> Call[types.Run]:
    """End a run with what it has come to. The same again is answered the same.

    Args:
        run_id: The run.
        output: Any JSON of at most 200 KiB.

    Raises:
        NotFound: there is no such run.
        Conflict: it has ended otherwise (``run_ended``), or the agent is being erased.
        InvalidRequest: a field is over its limits.
        Unavailable: it may have ended; ending it again is safe.
    """
    return Call("POST", f"/runs/{segment(run_id)}/complete", types.Run, body={"output": output})


def fail_run(_own: str | None, /, run_id: str, error: str) -> Call[types.Run]:
    """End a run with what has gone wrong. The same again is answered the same.

    Args:
        run_id: The run.
        error: At most 4 KiB in UTF-8.

    Raises:
        NotFound: there is no such run.
        Conflict: it has ended otherwise (``run_ended``), or the agent is being erased.
        InvalidRequest: a field is over its limits.
        Unavailable: it may have ended; ending it again is safe.
    """
    return Call("POST", f"/runs/{segment(run_id)}/fail", types.Run, body={"error": error})


def episodes(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    every_agent: bool = False,
    agent_type: str | None = None,
    run_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[types.EpisodePage]:
    """List episodes, newest first.

    Args:
        agent_id: Whose episodes, where that is not the client's agent.
        every_agent: List those of all agents that the credential reaches, as does a client without an agent: with
            ``agent_type`` those of all agents of that type.
        agent_type: Only those of agents of this type.
        run_id: Only those of this run.
        limit: The most episodes of one page, 1 to 100; None: 10.
        cursor: Of the page before, to the same question; good for 24 hours.

    Raises:
        InvalidRequest: a field is over its limits, or the listing has to start again (``invalid_cursor``).
        Unavailable: there is no answer.
    """
    query = given(
        agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
        agent_type=agent_type,
        run_id=run_id,
        limit=None if limit is None else str(limit),
        cursor=cursor,
    )
    return Call("GET", "/episodes", types.EpisodePage, query=query)
