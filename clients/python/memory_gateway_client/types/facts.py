"""Types of facts.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LearnedFact:
    """A fact that is kept.

    Attributes:
        fact_id: Your own id, or else the memory's.
        holds: Whether it is what holds now: neither a later nor a surer fact says otherwise.
    """

    fact_id: str
    memory_id: str
    subject: str
    predicate: str
    object: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact.

    Attributes:
        content: The fact in a sentence, or the text whose statement it is.
        since: When it was said.
        until: When what replaced it was said.
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
    """Facts, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    facts: tuple[Fact, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact that answers a question.

    Attributes:
        content: The fact in a sentence, or the text whose statement it is.
        subject: Absent, with the others: the content is all there is.
        score: How likely it answers the query.
        occurred_at: Since when it holds, as its teller said.
    """

    memory_id: str
    content: str
    confidence: float
    score: float
    created_at: datetime
    fact_id: str | None = None
    agent_type: str | None = None
    learned_from_run_id: str | None = None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """Facts, best first.

    Attributes:
        degraded: Present when the answer may not be all there is, as in the answer of a recall.
    """

    entries: tuple[RecalledFact, ...]
    degraded: tuple[str, ...] = ()
