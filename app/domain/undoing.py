"""The undoing of the memories of a run, a session or a credential: its selection, its forecast and its result."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest


@dataclass(frozen=True, slots=True)
class Selected:
    """The source whose memories are taken back: a run, an agent's session, or a credential. It checks itself.

    Raises:
        InvalidRequest: no source or several sources are named, or an id has another form.
    """

    run_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    credential_id: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds, and that exactly one source is named."""
        limits.check(
            ("run_id", limits.RUN_ID, self.run_id),
            ("agent_id", limits.AGENT_ID, self.agent_id),
            ("session_id", limits.SESSION_ID, self.session_id),
            ("credential_id", limits.CREDENTIAL_ID, self.credential_id),
        )
        if sum(each is not None for each in (self.run_id, self.session_id, self.credential_id)) != 1:
            message = "name exactly one: run_id, session_id with agent_id, or credential_id"
            raise InvalidRequest(f"{message}.".capitalize(), errors=[FieldError("run_id", message)])
        if (self.agent_id is None) != (self.session_id is None):
            message = "goes with session_id, and only with it"
            raise InvalidRequest(f"agent_id {message}.", errors=[FieldError("agent_id", message)])


@dataclass(frozen=True, slots=True)
class RecentSource:
    """A session, a run or a credential that has taught lately."""

    id: str
    memories: int
    """How many memories it has; 501 stands for 501 or more."""
    written_at: int
    """When the newest of them was stored, in ms since the epoch."""
    agent_id: str | None = None
    """Of a session: whose it is."""


@dataclass(frozen=True, slots=True)
class RecentSources:
    """The sources that have taught a tenant lately, of each kind at most 20, the newest first."""

    sessions: Sequence[RecentSource]
    runs: Sequence[RecentSource]
    credentials: Sequence[RecentSource]


@dataclass(frozen=True, slots=True)
class Going:
    """A memory that an undo would delete."""

    id: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class Holding:
    """A memory that is superseded now, and would hold again."""

    memory_id: str
    agent_id: str
    content: str
    """At most its first 1,200 characters; of a memory beyond the first 50, none."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The reach of an undo, in addition to its counts."""

    learned: int
    """How many of the deleted memories a model has learned of messages that are deleted too."""
    agents: int
    """How many agents lose memories."""
    agent_ids: Sequence[str]
    """The first ids of these agents, in their order."""
    going: Sequence[Going]
    """The first of the memories that would be deleted."""
    holds_again: int
    """How many memories would hold again."""
    holding: Sequence[Holding]
    """The first of the memories that would hold again."""
    at_least: bool
    """Whether the counting was cut short: then each count is a lower bound."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of an undo or, of a dry run, its forecast."""

    memories: int
    """How many memories are deleted."""
    changed: int
    """How many other memories lose metadata that was added to them, or are remembered again."""
    messages: int
    """Of a run or a session: how many messages that were no memories yet are deleted."""
    outcomes: int
    """Of a credential: how many of the outcomes of workflows that it has reported are deleted."""
    more: bool
    """Whether more is left: the undo has to be called again. A dry run never says so."""
    finished_at: int
    """When the undo finished, in milliseconds since the epoch."""
    forecast: Forecast | None = None
    """The reach of a dry run; None where memories were deleted."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing was changed."""
        return self.forecast is not None
