"""Runs, each of which is one execution of an agent, and the episodes that happened in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.domain import limits
from app.domain.json_types import Json

RunStatus: TypeAlias = Literal["running", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to begin. It checks its bounds when it is made.

    Attributes:
        run_id: A ULID by which the same run is begun again without effect; None: the service makes an id.
        episodes: How many of the last episodes of this agent type the run is given.
        parent_run_id: The run that delegates this one; None: no run does.
        handed_over: The JSON that the parent run hands over, anything but null; None: nothing is handed over.

    Raises:
        InvalidRequest: a field is outside its bounds, the run is its own parent, or a value is handed over without a
            parent run; every such field is named.
    """

    agent_id: str
    agent_type: str
    input: Json
    run_id: str | None = None
    episodes: int = 10
    parent_run_id: str | None = None
    handed_over: Json = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        limits.check(
            ("agent_id", limits.AGENT_ID, self.agent_id),
            ("agent_type", limits.AGENT_ID, self.agent_type),
            ("input", limits.RUN_VALUE, self.input),
            ("run_id", limits.RUN_ID, self.run_id),
            ("episodes", limits.EPISODES_GIVEN, self.episodes),
            ("parent_run_id", limits.RUN_ID, self.parent_run_id),
            ("handed_over", limits.HANDED_OVER, self.handed_over),
        )
        if self.parent_run_id is not None and self.parent_run_id == self.run_id:
            raise limits.out_of_bounds([("parent_run_id", limits.Violation("is the run itself"))])
        if self.parent_run_id is None and self.handed_over is not None:
            raise limits.out_of_bounds([("handed_over", limits.Violation("is by no run: parent_run_id is missing"))])


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode to write. It checks its bounds when it is made, as ``NewRun`` does.

    Attributes:
        type: The kind of the episode, in the caller's own words.
        episode_id: A ULID by which the same episode is written again without effect; None: the service makes an id.
        occurred_at: Milliseconds since the epoch; None: now, by the clock of the database.
    """

    type: str
    content: str
    data: Mapping[str, Json] = field(default_factory=dict)
    episode_id: str | None = None
    occurred_at: int | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        limits.check(
            ("episode_id", limits.EPISODE_ID, self.episode_id),
            ("type", limits.EPISODE_TYPE, self.type),
            ("content", limits.EPISODE_CONTENT, self.content),
            ("data", limits.EPISODE_DATA, self.data),
        )


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that happened in a run; times are milliseconds since the epoch."""

    id: str
    run_id: str
    agent_id: str
    agent_type: str
    type: str
    content: str
    data: Mapping[str, Json]
    occurred_at: int
    created_at: int


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an agent; times are milliseconds since the epoch.

    Attributes:
        episode_ids: The episodes that the run was given when it began.
        output: The output with which the run was completed; in a completed run None may stand for null.
        workflow_id: The workflow that was selected last for the run.
        input_blob, output_blob: The blobs of the input and of the output, where these are too large for a row:
            ``input`` and ``output`` are then pointers to the blobs.
        parent_run_id: The run that has delegated this one.
        handed_over: The JSON that the parent run has handed over, where it was read.
    """

    id: str
    agent_id: str
    agent_type: str
    status: RunStatus
    input: Json
    episode_ids: Sequence[str]
    started_at: int
    ended_at: int | None = None
    output: Json = None
    error: str | None = None
    workflow_id: str | None = None
    input_blob: str | None = None
    output_blob: str | None = None
    parent_run_id: str | None = None
    handed_over: Json = None


@dataclass(frozen=True, slots=True)
class RunsWanted:
    """The conditions on runs to list; None sets no condition. Moments are in ms since the epoch, both exclusive."""

    agent_id: str | None = None
    agent_type: str | None = None
    status: RunStatus | None = None
    started_after: int | None = None
    started_before: int | None = None
    parent_run_id: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        limits.check(
            ("agent_id", limits.AGENT_ID, self.agent_id),
            ("agent_type", limits.AGENT_ID, self.agent_type),
            ("parent_run_id", limits.RUN_ID, self.parent_run_id),
        )


@dataclass(frozen=True, slots=True)
class EpisodesWanted:
    """The conditions on episodes to list; None sets no condition."""

    agent_id: str | None = None
    agent_type: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds."""
        limits.check(
            ("agent_id", limits.AGENT_ID, self.agent_id),
            ("agent_type", limits.AGENT_ID, self.agent_type),
            ("run_id", limits.RUN_ID, self.run_id),
        )
