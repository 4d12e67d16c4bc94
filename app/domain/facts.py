"""Facts: a subject, a predicate, an object and a confidence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any, Final

from app.domain.claim import AS_SAID, CIRCUMSTANCES, PERHAPS
from app.domain.errors import InvalidRequest
from app.domain.json_types import Json
from app.domain.limits import (
    AGENT_ID,
    CONFIDENCE,
    FACT_ID,
    FACT_OBJECT,
    FACT_PREDICATE,
    FACT_SUBJECT,
    FACT_TEXT_BYTES,
    RUN_ID,
    check,
)

FACT_KEY: Final = "fact"
"""The metadata key of a memory that is a fact."""
DOUBTFUL_BELOW: Final = 0.5
"""The confidence below which a fact is doubtful: a sure fact of its subject and predicate then holds over it."""
MOST_AGREED: Final = 0.99
"""The highest confidence that the agreement of sources gives a fact: only a surer source raises it further."""
MOST_DOUBTFUL: Final = 0.49
"""The same for a doubtful fact: a guess of several sources stays doubtful until a source is sure of it."""
MAX_SOURCES: Final = 32
"""How many sources of a fact count, and are kept."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it was told.

    Making one raises ``InvalidRequest`` where a field is outside its bounds.
    """

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0
    """From 0 to 1."""
    agent_type: str | None = None
    learned_from_run_id: str | None = None
    fact_id: str | None = None
    """The caller's own id of the fact."""
    single: bool = False
    """Whether only one object of the subject and predicate holds at a time: the object of the latest fact."""

    def __post_init__(self) -> None:
        """Check the bounds of all fields."""
        check(
            ("subject", FACT_SUBJECT, self.subject),
            ("predicate", FACT_PREDICATE, self.predicate),
            ("object", FACT_OBJECT, self.object),
            ("confidence", CONFIDENCE, self.confidence),
            ("agent_type", AGENT_ID, self.agent_type),
            ("learned_from_run_id", RUN_ID, self.learned_from_run_id),
            ("fact_id", FACT_ID, self.fact_id),
        )

    @property
    def confident(self) -> bool:
        """Whether the fact is not doubtful."""
        return self.confidence >= DOUBTFUL_BELOW

    @property
    def sentence(self) -> str:
        """The fact in a sentence. A doubtful fact begins with "Perhaps": it and the same fact, sure, are two memories.

        The dash shows the model that embeds the sentence where the object begins, whatever the predicate is
        (tests/data/facts/ORIGIN.md).
        """
        parts = (self.subject, self.predicate.replace("_", " "), self.object)
        subject, predicate, said = (" ".join(part.split()) for part in parts)
        told = f"{subject} {predicate} - {said}"
        return told if self.confident else f"Perhaps {told}"

    @property
    def metadata(self) -> dict[str, Json]:
        """The metadata of the fact's memory."""
        told = asdict(self)
        if not self.single:
            del told["single"]  # so that the same fact has the same metadata as in an older version
        return {FACT_KEY: told}


@dataclass(frozen=True, slots=True)
class FactSource:
    """A source of a fact, and the source's confidence in it.

    ``source`` is the run that it was learned from, else the session, else the author.
    """

    source: str
    confidence: float


def agreed(told: float, sources: Iterable[FactSource]) -> float:
    """Return the confidence of a fact from the agreement of its sources; ``told`` is the confidence it was stored with.

    The sources count as independent: 1 - (1-a)(1-b)... (noisy-or), with a cap. A source that told the fact several
    times counts once, with its highest confidence. The result is never below ``told``.
    """
    surest: dict[str, float] = {}
    for source in sources:
        surest[source.source] = max(source.confidence, surest.get(source.source, 0.0))
    if len(surest) < 2:  # noqa: PLR2004 - one agrees with nobody
        return told
    doubt = prod(1 - confidence for confidence in surest.values())
    most = MOST_AGREED if told >= DOUBTFUL_BELOW else MOST_DOUBTFUL
    return max(told, min(most, round(1 - doubt, 4)))


def source_of(fact: Fact, session_id: str | None, author: str) -> str:
    """Return the source of a fact: its run, else its session, else its author."""
    if fact.learned_from_run_id is not None:
        return f"run:{fact.learned_from_run_id}"
    return f"author:{author}" if session_id is None else f"session:{session_id}"


@dataclass(frozen=True, slots=True)
class About:
    """A condition on facts, in the terms of their claims' keys. None sets no condition."""

    subjects: Sequence[str] | None = None
    """The subjects of keys, of which a fact has to have one."""
    relation: str | None = None
    """The relation of a key: the predicate in normal form."""
    predicate: str | None = None
    """The predicate as it was asked for, for facts whose key has another relation."""


@dataclass(frozen=True, slots=True)
class FactStatement:
    """A memory's value of a key: from a fact that was stored, or from a statement of a text."""

    memory_id: str
    key: str
    value: str
    content: str
    metadata: Mapping[str, Json]
    since: int
    """When the memory was said, in ms since the epoch."""
    until: int | None
    """When the memory that replaced this one was said; None: none did."""
    holds: bool
    sources: Sequence[Sequence[Any]] = ()
    """The sources of the fact, its own among them: the name and the confidence of each."""

    @property
    def fact(self) -> Fact:
        """The fact as it was stored, with the confidence that its sources agree on; else as its key says it."""
        fact = fact_in(self.metadata)
        return self.stated if fact is None else agreed_fact(fact, self.sources)

    @property
    def stated(self) -> Fact:
        """The fact as its key says it."""
        return of_key(self.key, self.content if self.value == AS_SAID else self.value)


def agreed_fact(fact: Fact, sources: Iterable[Sequence[Any]]) -> Fact:
    """Return a fact with the confidence that its sources agree on; each source is its name and its confidence."""
    sure = agreed(fact.confidence, [FactSource(str(source), float(confidence)) for source, confidence in sources])
    return fact if sure == fact.confidence else replace(fact, confidence=sure)


def fact_in(metadata: Mapping[str, Json]) -> Fact | None:
    """Return the fact in a memory's metadata; None where the metadata holds none, or none in the form of a fact."""
    told = metadata.get(FACT_KEY)
    if not isinstance(told, Mapping):
        return None
    parts = [text for name in _PARTS if isinstance(text := told.get(name), str)]
    others = [text for name in _OTHERS if isinstance(text := told.get(name), str | None)]
    sure = told.get("confidence", 1.0)
    if len(parts) < len(_PARTS) or len(others) < len(_OTHERS):
        return None
    if isinstance(sure, bool) or not isinstance(sure, int | float):
        return None
    subject, predicate, said = parts
    agent_type, run_id, fact_id = others
    try:
        return Fact(
            subject, predicate, said, float(sure), agent_type, run_id, fact_id, single=told.get("single") is True
        )
    except (InvalidRequest, OverflowError):
        return None


def of_key(key: str, value: str) -> Fact:
    """Return the fact that a claim of this key and value makes: "user/lives_in" is "oslo"."""
    subject, _, relation = key.removeprefix(PERHAPS).partition("/")
    told = relation.partition("/")[0].partition(CIRCUMSTANCES)[0].replace("_", " ")
    return Fact(subject[:_CLIPPED] or "user", told[:_CLIPPED] or "is", value[: 4 * _CLIPPED] or "?")


_CLIPPED = FACT_TEXT_BYTES // 4
"""How many characters surely fit: each takes four bytes at most."""
_PARTS = ("subject", "predicate", "object")
_OTHERS = ("agent_type", "learned_from_run_id", "fact_id")
