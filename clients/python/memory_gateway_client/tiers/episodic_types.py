"""What the service answers of runs and episodes. All times are aware datetimes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that has happened in a run.

    Attributes:
        type: What kind of thing happened, in the words of who wrote it.
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
    """A run that has begun, and the last episodes of its agent type, newest first."""

    run_id: str
    agent_id: str
    agent_type: str
    status: str
    started_at: datetime
    input: Any
    episodes: tuple[Episode, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an agent.

    Attributes:
        status: ``running``, ``completed`` or ``failed``.
        episode_ids: The episodes that it was given when it began, newest first.
        ended_at: None: it is running.
        output: What it was completed with.
        error: What it has failed of.
        workflow_id: The workflow that was selected for it last.
        parent_run_id: The run that has delegated it.
        handed_over: What that run has given it to know, of ``get_run`` alone.
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
    """Runs of a listing, newest first; where there are more, ``cursor`` goes on with the same listing."""

    runs: tuple[Run, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Episodes of a listing, newest first; where there are more, ``cursor`` goes on with the same listing."""

    episodes: tuple[Episode, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """How many episodes were written, and how many had been written before and stay as they are."""

    written: int
    known: int
