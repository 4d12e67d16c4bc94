"""What the service answers of an undo."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class UndoGoing:
    """A memory that would go."""

    id: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class UndoHolding:
    """A memory that is superseded now, and would hold again.

    Attributes:
        content: At most its first 1,200 characters.
    """

    id: str
    agent_id: str
    content: str


@dataclass(frozen=True, slots=True)
class UndoForecast:
    """How far an undo would reach.

    Attributes:
        learned: How many of the memories that would go were learned of messages that would go.
        agents: How many agents would lose memories.
        agent_ids: The first 50 of them.
        going: The first 50 memories that would go.
        holds_again: How many memories that are superseded now would hold again.
        holding: The first 50 of them.
        at_least: Whether each count says how many there are at least.
    """

    learned: int
    agents: int
    agent_ids: tuple[str, ...]
    going: tuple[UndoGoing, ...]
    holds_again: int
    holding: tuple[UndoHolding, ...]
    at_least: bool


@dataclass(frozen=True, slots=True)
class UndoneLearned:
    """What was taken back or, of a dry run, would be.

    Attributes:
        memories: How many were deleted, or would be.
        changed: How many of others lose what was added to them, or are remembered again.
        messages: Of a run or a session: how many messages that were no memories yet were deleted too.
        outcomes: Of a credential: how many outcomes of workflows, which it had reported, count no more.
        more: Whether there is more, since one call has an end: call again.
        forecast: Of a dry run.
    """

    dry_run: bool
    memories: int
    changed: int
    messages: int
    outcomes: int
    more: bool
    ended_at: datetime
    forecast: UndoForecast | None = None
