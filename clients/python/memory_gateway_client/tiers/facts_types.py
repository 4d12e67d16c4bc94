"""What the service answers of facts. All times are aware datetimes."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LearnedFact:
    """A fact that is kept.

    Attributes:
        fact_id: Your own id of it, or else the memory's.
        holds: Whether it is what holds now: neither a later nor a surer fact says otherwise.
    """

    fact_id: str
    memory_id: str
    subject: str
    predicate: str
    object: str
    holds: bool


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact that answers a question.

    Attributes:
        content: The fact in a sentence, or the text whose statement it is.
        confidence: How sure it is, 0 to 1; one below 0.5 is doubtful.
        score: How likely it answers the query, 0 to 1.
        created_at: When it was stored.
        subject: None, with the predicate and the object, where the content is all there is.
        fact_id: The id that its teller gave it.
        occurred_at: Since when it holds, as its teller said.
    """

    memory_id: str
    content: str
    confidence: float
    score: float
    created_at: datetime
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    fact_id: str | None = None
    agent_type: str | None = None
    learned_from_run_id: str | None = None
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """Facts, best first.

    Attributes:
        degraded: Why this may not be all there is, such as ``index_unavailable``.
    """

    entries: tuple[RecalledFact, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a listing.

    Attributes:
        content: The fact in a sentence, or the text whose statement it is.
        confidence: How sure it is, 0 to 1; one below 0.5 is doubtful.
        since: When it was said.
        holds: Whether it is what holds now.
        fact_id: The id that its teller gave it.
        until: When what replaced it was said; None: nothing did.
    """

    memory_id: str
    content: str
    confidence: float
    subject: str
    predicate: str
    object: str
    since: datetime
    holds: bool
    fact_id: str | None = None
    agent_type: str | None = None
    learned_from_run_id: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class FactPage:
    """Facts, newest first; ``cursor`` is None on the last page."""

    facts: tuple[Fact, ...]
    cursor: str | None = None
