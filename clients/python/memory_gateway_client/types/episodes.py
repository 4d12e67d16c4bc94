"""Types of episodes.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that has happened in a run.

    Attributes:
        created_at: When it was written.
    """

    id: str
    run_id: str
    agent_id: str
    agent_type: str
    type: str
    content: str
    data: dict[str, Any]
    occurred_at: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run, and the last episodes of its agent type.

    Attributes:
        status: One of ``running``, ``completed``, ``failed``.
        input: What it was started with.
        episodes: Newest first; their ids are kept with the run.
    """

    run_id: str
    agent_id: str
    agent_type: str
    status: str
    started_at: datetime
    input: Any
    episodes: tuple[Episode, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A run.

    Attributes:
        status: One of ``running``, ``completed``, ``failed``.
        input: What it was started with.
        episode_ids: The episodes that it was given when it began, newest first.
        ended_at: Absent: it is running.
        output: What it was completed with. Absent: nothing.
        error: What it has failed of.
        workflow_id: The workflow that was selected for it last.
        parent_run_id: The run that has delegated it.
        handed_over: What its parent has given it to know. Only in the answer of the run itself.
    """

    run_id: str
    agent_id: str
    agent_type: str
    status: str
    started_at: datetime
    input: Any
    episode_ids: tuple[str, ...]
    ended_at: datetime | None = None
    output: Any = None
    error: str | None = None
    workflow_id: str | None = None
    parent_run_id: str | None = None
    handed_over: Any = None


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    runs: tuple[Run, ...]
    cursor: str | None = None


class EpisodeRequest(TypedDict, total=False):
    """Something that has happened in a run.

    Attributes:
        episode_id: A ULID of the caller: the same id again is the same episode.
        type: What kind of thing happened, in your own words.
        content: At most 32768 bytes in UTF-8.
        data: At most 10240 bytes as JSON, nested at most 8 deep.
        occurred_at: When it happened, where that is not now.
    """

    episode_id: str
    type: Required[str]
    content: Required[str]
    data: Mapping[str, Any]
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of the episodes.

    Attributes:
        written: How many were written.
        known: How many had been written before, and stay as they are.
    """

    written: int
    known: int


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Episodes, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    episodes: tuple[Episode, ...]
    cursor: str | None = None
