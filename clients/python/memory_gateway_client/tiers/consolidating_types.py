"""What the service answers about consolidations."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Merged:
    """A memory that another one has taken the place of, or would.

    Attributes:
        kept_id: The memory that says all that it says.
    """

    agent_id: str
    memory_id: str
    kept_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A consolidation of the tenant's memories.

    Attributes:
        memories: How many texts were merged into others.
        facts: How many facts were.
        chains: How many chains of superseded memories lead straight to their ends since.
        tasks: How many tasks had expired and were deleted.
        ended_at: None: it is under way, or was stopped and goes on with the next one.
        undone_at: When it was undone.
        ms: How long it took, in milliseconds, with all stops.
    """

    id: str
    started_at: datetime
    memories: int
    facts: int
    chains: int
    tasks: int
    ended_at: datetime | None = None
    undone_at: datetime | None = None
    ms: int | None = None


@dataclass(frozen=True, slots=True)
class Consolidations:
    """Consolidations, newest first."""

    consolidations: tuple[Consolidation, ...]


@dataclass(frozen=True, slots=True)
class ConsolidationForecast:
    """What the next consolidation would merge of an agent's memories word for word.

    Attributes:
        memories: How many texts would be merged into others.
        facts: How many facts would.
        merges: The first 50.
        at_least: Whether not all memories were looked at.
    """

    memories: int
    facts: int
    merges: tuple[Merged, ...]
    at_least: bool


@dataclass(frozen=True, slots=True)
class ConsolidationUndone:
    """What was taken back or, of a dry run, would be.

    Attributes:
        memories: How many memories and facts hold again, or would.
        merges: The first 50.
        more: Whether there is more, since one call has an end: call again.
    """

    consolidation_id: str
    dry_run: bool
    memories: int
    merges: tuple[Merged, ...]
    more: bool
