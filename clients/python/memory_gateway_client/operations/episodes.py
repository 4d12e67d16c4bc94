"""Operations: episodes.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_gateway_client.agents import agent_or_every, one_agent
from memory_gateway_client.request import (
    Call,
    asked,
    given,
    items,
    named,
    segment,
)
from memory_gateway_client.types import Appended, EpisodePage, EpisodeRequest, Run, RunPage, StartedRun
from memory_gateway_client.ulids import new_ulid


def start_run(
    _own: str | None,
    /,
    agent_type: str,
    input: Any,
    *,
    agent_id: str | None = None,
    run_id: str | None = None,
    episodes: int | None = None,
    parent_run_id: str | None = None,
    handed_over: Any = None,
) -> Call[StartedRun]:
    """Begin a run, and be given the last episodes of its agent type. With its id the same run again is the same run.

    With ``parent_run_id`` it is a part of another run's task: its keys and its state end with it, and the log of its
    parent has its result.

    Args:
        agent_type: What kind of agent it is: agents of one type learn of each other's episodes.
        input: Any JSON: at most 204800 bytes, nested at most 16 deep.
        agent_id: The agent, where that is not the client's.
        run_id: A ULID of the caller: the same request again is the same run.
        episodes: One, or 1 to 100: all are written, or none. An ``episode_id`` is made where it is missing.
        parent_run_id: The run that delegates this one: it has to be running.
        handed_over: What its parent gives it to know: any JSON but null, at most 8192 bytes. ``GET /runs/{run_id}`` of
            the run has it, and nothing else.

    Raises:
        Conflict: ``erasing``, ``conflict``, ``run_ended``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        "/runs",
        StartedRun,
        body={"input": input}
        | given(
            agent_id=one_agent(agent_id, _own),
            agent_type=agent_type,
            run_id=run_id or new_ulid(),
            episodes=episodes,
            parent_run_id=parent_run_id,
            handed_over=handed_over,
        ),
        status=201,
    )


def runs(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    status: str | None = None,
    started_after: datetime | None = None,
    started_before: datetime | None = None,
    parent_run_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    every_agent: bool = False,
) -> Call[RunPage]:
    """List runs, newest first. In place of an input or output over 100,000 bytes they have a pointer to its blob.

    Args:
        agent_id: The agent, where that is not the client's.
        agent_type: Only those of agents of this type.
        status: One of ``running``, ``completed``, ``failed``.
        started_after: Started later than this.
        started_before: Started earlier than this.
        parent_run_id: Only those that this run has delegated.
        limit: The most memories of one answer. From 1 to 100. Left out: ``20``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/runs",
        RunPage,
        query=asked(
            agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
            agent_type=agent_type,
            status=status,
            started_after=started_after,
            started_before=started_before,
            parent_run_id=parent_run_id,
            limit=limit,
            cursor=cursor,
        ),
    )


def get_run(
    _own: str | None,
    /,
    run_id: str,
) -> Call[Run]:
    """Return a run, with an input and output of any size. Where the object store has lost one, the answer is 410.

    Args:
        run_id: Which run.

    Raises:
        NotFound: ``blob_gone``.
    """
    return Call(
        "GET",
        f"/runs/{segment(run_id)}",
        Run,
    )


def append_episode(
    _own: str | None,
    /,
    run_id: str,
    episodes: EpisodeRequest | Mapping[str, Any] | Sequence[EpisodeRequest | Mapping[str, Any]],
) -> Call[Appended]:
    """Write what has happened in a run: all of it, or nothing. An episode whose id the run has stays as it is.

    Args:
        run_id: Which run.
        episodes: One, or 1 to 100: all are written, or none. An ``episode_id`` is made where it is missing.

    Raises:
        Conflict: ``erasing``, ``conflict``, ``run_ended``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/runs/{segment(run_id)}/episodes",
        Appended,
        body=given(episodes=named(items(episodes), "episode_id")),
        status=201,
    )


def complete_run(
    _own: str | None,
    /,
    run_id: str,
    output: Any = None,
) -> Call[Run]:
    """End a run with what it has come to. The same again is answered the same.

    Args:
        run_id: Which run.
        output: Any JSON: at most 204800 bytes, nested at most 16 deep.

    Raises:
        Conflict: ``erasing``, ``run_ended``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/runs/{segment(run_id)}/complete",
        Run,
        body=given(output=output),
    )


def fail_run(
    _own: str | None,
    /,
    run_id: str,
    error: str,
) -> Call[Run]:
    """End a run with what has gone wrong. The same again is answered the same.

    Args:
        run_id: Which run.
        error: At most 4096 bytes in UTF-8.

    Raises:
        Conflict: ``erasing``, ``run_ended``.
        NotFound: ``not_found``.
    """
    return Call(
        "POST",
        f"/runs/{segment(run_id)}/fail",
        Run,
        body=given(error=error),
    )


def episodes(
    _own: str | None,
    /,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    run_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    every_agent: bool = False,
) -> Call[EpisodePage]:
    """List episodes, newest first: with an agent type those of all agents of this type that the credential reaches.

    Args:
        agent_id: The agent, where that is not the client's.
        agent_type: Only those of agents of this type.
        run_id: Only those of this run.
        limit: The most memories of one answer. From 1 to 100. Left out: ``10``.
        cursor: Of the answer before, to the same question; good for 24 hours. Empty: from the beginning.
        every_agent: Those of all agents that the credential reaches, as does a client without an agent.
    """
    return Call(
        "GET",
        "/episodes",
        EpisodePage,
        query=asked(
            agent_id=agent_or_every(agent_id, _own, every_agent=every_agent),
            agent_type=agent_type,
            run_id=run_id,
            limit=limit,
            cursor=cursor,
        ),
    )
