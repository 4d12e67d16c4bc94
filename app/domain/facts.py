"""Facts: a subject, a predicate and an object, and how sure of it somebody is."""

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
"""The confidence below which a fact is doubtful: then whatever is sure of its subject and predicate holds over it."""
MOST_AGREED: Final = 0.99
"""What the agreement of several makes a fact at most: only who tells it surely makes it surer."""
MOST_DOUBTFUL: Final = 0.49
"""The same of a doubtful fact: what several guess stays a guess until somebody tells it surely."""
MAX_SOURCES: Final = 32
"""Sources of a fact that count, and are kept."""


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
    """The id that its teller knows it by."""
    single: bool = False
    """Whether of its subject and predicate one object holds at a time: the one that was told last."""

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
        """Whether it is not doubtful."""
        return self.confidence >= DOUBTFUL_BELOW

    @property
    def sentence(self) -> str:
        """The fact in a sentence. A doubtful one says so: it and the same fact told surely are two memories.

        The dash shows the model that embeds it where the object begins, whatever the predicate is
        (tests/data/facts/ORIGIN.md).
        """
        parts = (self.subject, self.predicate.replace("_", " "), self.object)
        subject, predicate, said = (" ".join(part.split()) for part in parts)
        told = f"{subject} {predicate} - {said}"
        return told if self.confident else f"Perhaps {told}"

    @property
    def metadata(self) -> dict[str, Json]:
        """What the metadata of its memory has."""
        told = asdict(self)
        if not self.single:
            del told["single"]  # so that a fact which an older version has kept is the same one
        return {FACT_KEY: told}


@dataclass(frozen=True, slots=True)
class FactSource:
    """A source of a fact, and how sure of it that is.

    ``source`` is the run that it was learned from, else the session, else the author.
    """

    source: str
    confidence: float


def agreed(told: float, sources: Iterable[FactSource]) -> float:
    """Return the confidence of a fact that was ``told`` with so much of it, from the agreement of its sources.

    It is as if none knew of the others, 1 - (1-a)(1-b)... (noisy-or), with a cap. A source that told it several times
    counts once, as it was surest. It is never less than what was told.
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
    """Return the source of a fact: its run, else its session, else who wrote it."""
    if fact.learned_from_run_id is not None:
        return f"run:{fact.learned_from_run_id}"
    return f"author:{author}" if session_id is None else f"session:{session_id}"


@dataclass(frozen=True, slots=True)
class About:
    """Of what a fact has to tell, as the keys of claims say it. None: of anything."""

    subjects: Sequence[str] | None = None
    """The subjects of keys."""
    relation: str | None = None
    """What a key says of its subject."""
    predicate: str | None = None
    """What a fact was told to say of its subject, where its key says it otherwise."""


@dataclass(frozen=True, slots=True)
class FactStatement:
    """What a memory states of a key: a fact that was told, or what a statement of a text says."""

    memory_id: str
    key: str
    value: str
    content: str
    metadata: Mapping[str, Json]
    since: int
    """When it was said, in ms since the epoch."""
    until: int | None
    """When what replaced it was said; None: nothing did."""
    holds: bool
    sources: Sequence[Sequence[Any]] = ()
    """Who told it: the source and the confidence of each, its own among them."""

    @property
    def fact(self) -> Fact:
        """The fact as it was told, or as its key says it, as sure as its sources agree."""
        fact = fact_in(self.metadata)
        return self.stated if fact is None else agreed_fact(fact, self.sources)

    @property
    def stated(self) -> Fact:
        """The fact as its key says it."""
        return of_key(self.key, self.content if self.value == AS_SAID else self.value)


def agreed_fact(fact: Fact, sources: Iterable[Sequence[Any]]) -> Fact:
    """Return a fact with the confidence that sources agree on: of each its name, and how sure it is."""
    sure = agreed(fact.confidence, [FactSource(str(source), float(confidence)) for source, confidence in sources])
    return fact if sure == fact.confidence else replace(fact, confidence=sure)


def fact_in(metadata: Mapping[str, Json]) -> Fact | None:
    """Return the fact that a memory of this metadata is; None where it is none, or not in the form of one."""
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
"""Characters, of which each takes four bytes at most."""
_PARTS = ("subject", "predicate", "object")
_OTHERS = ("agent_type", "learned_from_run_id", "fact_id")
