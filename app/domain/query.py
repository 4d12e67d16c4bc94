"""The query of a recall, and the entries of its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from app.domain.author import Provenance
from app.domain.claim import MemoryType
from app.domain.facts import About
from app.domain.json_types import Scalar
from app.domain.limits import (
    CANDIDATES,
    FILTER_METADATA,
    MAX_OF_GROUP,
    MAX_TOKENS,
    MIN_SCORE,
    QUERY,
    RECENCY_DAYS,
    TOP_K,
    TOP_K_OF_TOOLS,
    check,
)
from app.domain.memory import MemoryContent

RECALL_PART_SECONDS = 2.0
"""How long a recall waits for each service that it can do without, where the operator sets no other time."""

GroupBy: TypeAlias = Literal["session"]
"""The field by which the entries of a recall are grouped."""
Collapse: TypeAlias = Literal["copies", "restatements"]
"""Which memories become one entry: those that differ in nothing but case, white space and Unicode form, or also those
that restate each other (ADR 0088)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The conditions on the memories that a recall may return: all must hold.

    ``created_after`` and ``created_before`` are exclusive bounds; a metadata value matches when it is
    equal and of the same JSON type (1 and 1.0 are one number; ``true`` is no number).
    """

    created_after: int | None = None
    created_before: int | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    type: MemoryType | None = None
    """The kind of a memory; None: any kind."""
    about: About | None = None
    """The subject and predicate of which a memory states the value; None: any memory, with such a claim or without."""

    @property
    def looks_into_the_database(self) -> bool:
        """Whether a condition needs the database: no index beside the database could apply it."""
        return self.type is not None or self.about is not None

    def __bool__(self) -> bool:
        """Whether the filter excludes anything."""
        return self is not EVERYTHING and self != EVERYTHING


EVERYTHING = Filter()
"""The filter that excludes nothing."""


@dataclass(frozen=True, slots=True)
class Query:
    """The query of a recall, with its options.

    Making one raises ``InvalidRequest`` where a field is outside its bounds.
    """

    text: str
    top_k: int = 5
    where: Filter = EVERYTHING
    reference_time: int | None = None
    """The moment from which "yesterday" and an age are counted; None: now."""
    min_score: float = 0.0
    max_tokens: int | None = None
    """The most tokens of all entries' content together, by ``app.retrieval.selection.tokens``; None: no bound."""
    collapse: Collapse | None = None
    """Which memories become one entry; None: each memory is an entry of its own."""
    explain: bool = False
    """Whether entries have the parts of their score."""
    recency_days: float | None = None
    """The age in days at which a preference for recent memories has halved; None: recent memories are not preferred."""
    for_model: bool = False
    """Whether a model reads the entries: rows that a program keeps for itself, which have the metadata key
    ``store.key``, are left out before anything is counted."""
    for_answer: bool = False
    """Whether a language model is to answer from the entries: learned memories come before their messages."""
    as_of: int | None = None
    """The moment (ms since the epoch) of the recall: it returns memories that had happened and held then; None: now."""
    embedded: str | None = None
    """The text that is embedded in place of ``text``; None: ``text`` without its names."""
    group_by: GroupBy | None = None
    """The field by which entries are grouped, so that ``top_k`` counts groups; None: entries are not grouped."""
    strict: bool | None = None
    """Whether an outage of the embedder, the index or the words makes the recall fail, where it would else answer
    without them; None: as the operator has set it."""

    def __post_init__(self) -> None:
        """Check the bounds of all fields, under the names that callers know them by."""
        check(
            ("query", QUERY, self.text),
            ("top_k", CANDIDATES if self.for_answer else TOP_K_OF_TOOLS if self.for_model else TOP_K, self.top_k),
            ("min_score", MIN_SCORE, self.min_score),
            ("recency_days", RECENCY_DAYS, self.recency_days),
            ("max_tokens", MAX_TOKENS, self.max_tokens),
            ("filter.metadata", FILTER_METADATA, self.where.metadata),
        )

    @property
    def most_entries(self) -> int:
        """How many entries the answer has at most."""
        return self.top_k if self.group_by is None else self.top_k * MAX_OF_GROUP


@dataclass(frozen=True, slots=True)
class Finding:
    """How one channel found a memory, or what one cue added to it."""

    channel: str
    weighted: float
    """The finding's share of the score."""
    raw: float | None = None
    """The score in the channel's own measure."""
    rank: int | None = None
    """The memory's rank in the channel, from 1, where the channel ranks."""

    def scaled(self, factor: float) -> "Finding":
        """Return the finding with its share of a score that was multiplied by the factor."""
        return replace(self, weighted=self.weighted * factor)


@dataclass(frozen=True, slots=True)
class Restatement:
    """A memory that an entry restates, and that is no entry of its own for that."""

    id: str
    created_at: int
    occurred_at: int | None

    @property
    def happened_at(self) -> int:
        """The moment that the memory speaks of, as of an entry."""
        return self.created_at if self.occurred_at is None else self.occurred_at


@dataclass(frozen=True, kw_only=True)
class Entry(MemoryContent):
    """A memory as recall returns it."""

    id: str
    score: float
    """How likely the memory answers the query, or the reranker's relevance, 0 to 1."""
    created_at: int
    """When the memory was stored."""
    source: Provenance | None = None
    """The memory's provenance; None where the memory is older than the columns that keep it."""
    similarity: float | None = None
    """The cosine similarity, -1 to 1, where the vector channel found the memory."""
    findings: Sequence[Finding] = ()
    also: Sequence[Restatement] = ()
    """The memories that it stands for as well, the newest first; none unless the query collapses."""

    @property
    def happened_at(self) -> int:
        """The moment that the memory speaks of: ``occurred_at``, or else the moment when it was stored."""
        return self.created_at if self.occurred_at is None else self.occurred_at


@dataclass(frozen=True, slots=True)
class Group:
    """The entries of one session, or an entry without a session."""

    session_id: str | None
    score: float
    """How likely one of the group's entries answers the query, 0 to 1."""
    entries: Sequence[str]
    """The ids of the entries, best first."""
