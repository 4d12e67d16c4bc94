"""What a caller asks its memory, and what it is answered."""

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
"""How long a recall waits for each service that it can do without, where the operator says nothing else."""

GroupBy: TypeAlias = Literal["session"]
"""By what the entries of a recall are put together."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories a recall may return: all conditions must hold.

    ``created_after`` and ``created_before`` are exclusive bounds; a metadata value matches when it is
    equal and of the same JSON type (1 and 1.0 are one number; ``true`` is no number).
    """

    created_after: int | None = None
    created_before: int | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    type: MemoryType | None = None
    """What a memory is; None: anything."""
    about: About | None = None
    """Of what a memory states the value; None: of anything, or of nothing."""

    @property
    def looks_into_the_database(self) -> bool:
        """Whether a condition is none that an index beside the database could apply."""
        return self.type is not None or self.about is not None

    def __bool__(self) -> bool:
        """Whether the filter excludes anything."""
        return self != Filter()


@dataclass(frozen=True, slots=True)
class Query:
    """What a caller asks its memory.

    Making one raises ``InvalidRequest`` where a field is outside its bounds.
    """

    text: str
    top_k: int = 5
    where: Filter = field(default_factory=Filter)
    reference_time: int | None = None
    """What "yesterday" and an age are counted from; None: now."""
    min_score: float = 0.0
    max_tokens: int | None = None
    """Of all entries' content together, by ``app.retrieval.selection.tokens``."""
    collapse: bool = False
    """Whether entries that differ only in case, white space and Unicode form are one."""
    explain: bool = False
    """Whether entries tell what their score is made of."""
    recency_days: float | None = None
    """The age at which a preference for recent memories has halved; None: there is none."""
    for_model: bool = False
    """Whether a model reads the entries: rows that a program keeps for itself, which have the metadata key
    ``store.key``, are left out before anything is counted."""
    for_answer: bool = False
    """Whether a language model is to answer from the entries: what was learned of messages comes before these."""
    as_of: int | None = None
    """As of which moment (ms since the epoch) memories are recalled: what had happened, and held, then; None: now."""
    embedded: str | None = None
    """What is embedded in place of the text; None: the text without its names."""
    group_by: GroupBy | None = None
    """By what entries are put together, so that ``top_k`` counts groups; None: each stands alone."""
    strict: bool | None = None
    """Whether an outage of the embedder, the index or the words is its error, and not an answer without them; None: as
    the operator has set it."""

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
        """How many entries its answer has at most."""
        return self.top_k if self.group_by is None else self.top_k * MAX_OF_GROUP


@dataclass(frozen=True, slots=True)
class Finding:
    """How one channel found a memory, or what one cue added to it."""

    channel: str
    weighted: float
    """Its share of the score."""
    raw: float | None = None
    """In the channel's own measure."""
    rank: int | None = None
    """From 1, where the channel ranks."""

    def scaled(self, factor: float) -> "Finding":
        """Return it with its share of a score that is the factor as high."""
        return replace(self, weighted=self.weighted * factor)


@dataclass(frozen=True, kw_only=True)
class Entry(MemoryContent):
    """A memory as recall returns it."""

    id: str
    score: float
    """How likely it answers the query, or the reranker's relevance, 0 to 1."""
    created_at: int
    """When it was stored."""
    source: Provenance | None = None
    """Who wrote it; None where that was not kept yet."""
    similarity: float | None = None
    """The cosine similarity, -1 to 1, where the vector channel found it."""
    findings: Sequence[Finding] = ()

    @property
    def happened_at(self) -> int:
        """The moment that it speaks of: as the store said, or else when it was stored."""
        return self.created_at if self.occurred_at is None else self.occurred_at


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one session, or a memory that has none."""

    session_id: str | None
    score: float
    """How likely one of its entries answers the query, 0 to 1."""
    entries: Sequence[str]
    """Their ids, best first."""
