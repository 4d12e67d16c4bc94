"""What is undone: what a run, a session or a credential has taught. And what an undo would do."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest


@dataclass(frozen=True, slots=True)
class Selected:
    """Whose memories are taken back: a run's, or an agent's session's, or a credential's. It checks itself.

    Raises:
        InvalidRequest: none or several are named, or one in another form.
    """

    run_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    credential_id: str | None = None

    def __post_init__(self) -> None:
        """Check the bounds, and that it is one."""
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
class Going:
    """A memory that would go."""

    id: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class Holding:
    """A memory that is superseded now, and would hold again."""

    memory_id: str
    agent_id: str
    content: str
    """At most its first 1,200 characters."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What an undo would do besides its counts: how far it reaches."""

    learned: int
    """Of the memories that would go: those that a model learned of messages that would go, and so go with them."""
    agents: int
    """How many agents lose memories."""
    agent_ids: Sequence[str]
    """The first of them, in their order."""
    going: Sequence[Going]
    """The first of the memories that would go."""
    holds_again: int
    holding: Sequence[Holding]
    """The first of the memories that would hold again."""
    at_least: bool
    """Whether something was not counted to the end: then each count says how many there are at least."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo has done or, as a dry run, would do."""

    memories: int
    """Deleted."""
    changed: int
    """Of others: they lose metadata that was added to them, or are remembered again."""
    messages: int
    """Of a run or a session: messages that were no memories yet, deleted."""
    outcomes: int
    """Of a credential: outcomes of workflows that it has reported, deleted."""
    more: bool
    """Whether there is more: undo again. A dry run has none."""
    finished_at: int
    """Milliseconds since the epoch."""
    forecast: Forecast | None = None
    """Of a dry run."""

    @property
    def dry_run(self) -> bool:
        """Whether nothing was changed."""
        return self.forecast is not None
