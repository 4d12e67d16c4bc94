"""The words of the domain as types. Times are integer milliseconds since the Unix epoch, UTC."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.float32]
"""One embedding: float32, one dimension, unit length, so that a dot product is the cosine."""

Scalar: TypeAlias = str | int | float | bool | None
Json: TypeAlias = "Scalar | list[Json] | dict[str, Json]"

ID_FORM = r"[A-Za-z0-9._:-]{1,64}"
"""Form of a tenant or agent id. Vectorize indexes only the first 64 bytes of a string (ADR 0002)."""

MEMORY_ID_FORM = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
"""Form of a ULID in Crockford's base 32, 26 characters."""

CONTENT_BYTES = 32 * 1024
METADATA_BYTES = 10 * 1024
METADATA_DEPTH = 8
SESSION_ID_BYTES = 256
TOP_K_MOST = 20

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

    @property
    def index_name(self) -> str:
        """``lt-memory-<provider>-<model>`` in the form Vectorize allows for an index name."""
        slug = re.sub(r"[^a-z0-9_-]+", "-", f"lt-memory-{self.provider}-{self.model}".lower())
        return slug[:_INDEX_NAME_BYTES].strip("-_")

    def __str__(self) -> str:
        """Return the config as a person reads it."""
        return f"{self.provider}/{self.model} ({self.dimensions} dimensions)"


@dataclass(frozen=True, slots=True)
class NewMemory:
    """What a caller asks to store."""

    content: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    session_id: str | None = None
    occurred_at: int | None = None

    @property
    def content_hash(self) -> str:
        """SHA-256, in hex, of what makes two memories of one agent the same memory."""
        identity = json.dumps([self.content, self.session_id, self.occurred_at])
        return hashlib.sha256(identity.encode()).hexdigest()


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
class Entry:
    """A memory as recall returns it. ``score`` is the cosine similarity, -1 to 1, higher is better."""

    id: str
    content: str
    metadata: Mapping[str, Json]
    score: float
    created_at: int


def milliseconds(moment: datetime, *, up: bool = False) -> int:
    """Milliseconds since the epoch of an aware datetime, rounded down, or up on request."""
    since = moment - _EPOCH
    return -(-since // timedelta(milliseconds=1)) if up else since // timedelta(milliseconds=1)


def moment(milliseconds_: int) -> datetime:
    """Turn milliseconds since the epoch into an aware datetime."""
    return _EPOCH + timedelta(milliseconds=milliseconds_)
