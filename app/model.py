"""The words of the domain as types. Times are integer milliseconds since the Unix epoch, UTC."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.analysis import segments

Vector: TypeAlias = npt.NDArray[np.float32]
"""One embedding: float32, one dimension, unit length, so that a dot product is the cosine."""

Scalar: TypeAlias = str | int | float | bool | None
Json: TypeAlias = "Scalar | Sequence[Json] | Mapping[str, Json]"

to_json: Callable[[Json], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Writes compact JSON; the one form in which JSON is stored, measured and sent."""

_RFC_3339 = re.compile(r"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INDEX_NAME_BYTES = 64


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memories: one agent inside one tenant. Nothing is read or written without both."""

    tenant_id: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """What a vector was made with. Vectors of two configs are never compared."""

    provider: str
    model: str
    dimensions: int
    shortened: bool = field(default=False, compare=False)
    """Whether the model makes more dimensions when it is not told how many."""

    @property
    def index_name(self) -> str:
        """``lt-memory-<provider>-<model>`` in the form Vectorize allows, with ``-<dimensions>`` where shortened."""
        return _index_name(self.provider, f"{self.model}-{self.dimensions}" if self.shortened else self.model)

    @property
    def label(self) -> str:
        """Return ``provider/model/dimensions``, as it stands beside a vector."""
        return f"{self.provider}/{self.model}/{self.dimensions}"

    def __str__(self) -> str:
        """Return the config as a person reads it."""
        return f"{self.provider}/{self.model} ({self.dimensions} dimensions)"


@dataclass(frozen=True)
class NewMemory:
    """What a caller asks to store."""

    content: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    session_id: str | None = None
    occurred_at: int | None = None
    expires_at: int | None = None

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, in hex, of what makes two memories of one agent the same memory."""
        identity = json.dumps([self.content, self.session_id, self.occurred_at])
        return hashlib.sha256(identity.encode()).hexdigest()

    @cached_property
    def segments(self) -> str:
        """The words of the content that the database does not find by itself."""
        return segments(self.content)

    @cached_property
    def metadata_json(self) -> str:
        """The metadata as it is stored."""
        return to_json(self.metadata)

    @cached_property
    def request_hash(self) -> str:
        """SHA-256, in hex, of everything that was asked: two requests with one hash ask the same."""
        asked = [self.content, self.metadata, self.session_id, self.occurred_at, self.expires_at]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which memories a recall may return: all conditions must hold.

    ``created_after`` and ``created_before`` are exclusive bounds; a metadata value matches when it is
    equal and of the same JSON type (1 and 1.0 are one number; ``true`` is no number).
    """

    created_after: int | None = None
    created_before: int | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether the filter excludes anything."""
        return self != Filter()


@dataclass(frozen=True, slots=True)
class Query:
    """What a caller asks its memory."""

    text: str
    top_k: int = 5
    where: Filter = field(default_factory=Filter)
    reference_time: int | None = None
    """What "yesterday" and an age are counted from; None: now."""
    min_score: float = 0.0
    max_tokens: int | None = None
    """Of all entries' content together, by ``app.retrieval.answer.tokens``."""
    collapse: bool = False
    """Whether entries that differ only in case, white space and Unicode form are one."""
    explain: bool = False
    """Whether entries tell what their score is made of."""
    recency_days: float | None = None
    """The age at which a preference for recent memories has halved; None: there is none."""


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as recall returns it."""

    id: str
    content: str
    metadata: Mapping[str, Json]
    score: float
    """All channels together, 0 to 1, higher is better."""
    created_at: int
    similarity: float | None = None
    """The cosine similarity, -1 to 1, where the vector channel found it."""
    findings: Sequence[Finding] = ()


def milliseconds(moment: datetime, *, up: bool = False) -> int:
    """Milliseconds since the epoch of an aware datetime, rounded down, or up on request."""
    since = moment - _EPOCH
    return -(-since // timedelta(milliseconds=1)) if up else since // timedelta(milliseconds=1)


def moment(milliseconds_: int) -> datetime:
    """Turn milliseconds since the epoch into an aware datetime."""
    return _EPOCH + timedelta(milliseconds=milliseconds_)


def parse_moment(text: str) -> datetime:
    """Read a timestamp with its offset, as RFC 3339 writes it; a leap second counts as the next second.

    Raises:
        ValueError: it has another form, or is no moment of the calendar.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError("must be a timestamp with its offset, as in 2026-01-31T09:30:00Z (RFC 3339)")
    date, seconds, fraction, offset = match.groups()
    leap = timedelta(seconds=1) if seconds == "60" else timedelta(0)
    whole = f"{date[:10]}T{date[11:]}:{'59' if leap else seconds}"
    try:
        return datetime.fromisoformat(f"{whole}.{(fraction or '').ljust(6, '0')[:6]}{offset.upper()}") + leap
    except (ValueError, OverflowError) as error:
        raise ValueError("must be a moment of the calendar, of the years 1 to 9999") from error


def format_moment(milliseconds_: int) -> str:
    """Write milliseconds since the epoch as RFC 3339 in UTC."""
    return moment(milliseconds_).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@lru_cache(maxsize=64)
def _index_name(provider: str, model: str) -> str:
    slug = re.sub(r"[^a-z0-9_]+", "-", f"lt-memory-{provider}-{model}".lower())
    if len(slug) > _INDEX_NAME_BYTES:  # what is cut off must not make two configs share an index
        digest = hashlib.sha256(slug.encode()).hexdigest()[:8]
        slug = f"{slug[: _INDEX_NAME_BYTES - 9]}-{digest}"
    return slug.strip("-_")
