"""An index over the database's vectors: it suggests, the database decides."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from app.domain.embedding import Vector
from app.domain.errors import Unavailable
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.query import Filter


@dataclass(frozen=True, slots=True)
class IndexedVector:
    """A memory's vector, with the fields that the index filters on.

    ``id`` is the memory's own; of two vectors with one id the vector of the higher ``revision`` is the newer.
    """

    scope: Scope
    id: str
    values: Vector
    created_at: int
    revision: int
    metadata: Mapping[str, Json] = field(default_factory=dict)


class Hit(NamedTuple):
    """An id that the index suggests; ``score`` is the cosine similarity, -1 to 1, higher is better."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits that an index suggests, best first; there may be more than were asked for.

    Attributes:
        hits: The ids with their scores.
        filtered: Every vector that passes the filter and is not among the hits is less similar than they are.
            False when the index could not apply a part of the filter and has given as many hits as it gives: the
            database then has to look for matches.
        more: Whether a larger ``top_k`` would find more.
        unreadable: How many vectors of the scope were left out because they are damaged: their length is wrong.
    """

    hits: Sequence[Hit]
    filtered: bool = True
    more: bool = False
    unreadable: int = 0


@dataclass(slots=True, eq=False)
class AwaitedHits:
    """Hits that are found in the same call as the rows that are read with them: the database's adapter asks the index.

    Until then one hit, which no memory has, stands for the hits in the argument of the statement that reads with them.
    After the run there are ``hits`` or an ``error``; neither where the database's adapter does not ask. An index's
    adapter has a class of its own for them, by which the adapter of the database beside it knows that it can ask.

    Attributes:
        marker: The id that stands for those of the hits.
    """

    marker: str = field(default_factory=lambda: secrets.token_hex(16))
    hits: Hits | None = None
    error: Unavailable | None = None

    @property
    def until_then(self) -> Hits:
        """The one hit that stands for the hits."""
        return Hits([Hit(self.marker, 1.0)])


class AsksWithin(ABC):
    """An index that a run of the database can ask in the same call. An adapter may be one; no index has to be.

    An adapter says so by its base class: each recall checks it, and a check for the methods of a protocol takes long.
    """

    @abstractmethod
    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        """Return the hits that a statement awaits in its run in place of ``VectorIndex.query``; None if not now."""
        ...


@dataclass(frozen=True, slots=True)
class NewVector:
    """The vector of a memory that is written in the same run, named by its agent, its id and its content's hash."""

    agent_id: str
    id: str
    content_hash: str
    values: Vector


@dataclass(frozen=True, slots=True)
class Insertion:
    """A statement that writes vectors, and its values; ``tenant_id`` is added to them."""

    sql: str
    index_name: str
    vectors: Sequence[Json]


class WritesWithin(ABC):
    """An index in the database's own file: the run that writes new memories can write their vectors too.

    Then no vector is queued for the index, and none has to be confirmed. An adapter may be one; no index has to be.
    """

    @abstractmethod
    def insertions(self, vectors: Sequence[NewVector]) -> Sequence[Insertion]:
        """Return statements that add the vectors of those memories that then exist.

        They come behind the statement that inserts the memories. A vector that the index already has under an id stays.
        """
        ...


class VectorIndex(Protocol):
    """Nearest vectors within one scope. There is no way to search without a scope.

    An adapter may show a write late; ``IndexAdmin.watermark`` tells up to when it shows writes. An index holds
    nothing that the database could not rebuild. This is all that a request needs of an index; methods that cross scopes
    are in ``IndexAdmin``.
    """

    @property
    def visible_at_once(self) -> bool:
        """Whether every query that begins after an acknowledgement sees the acknowledged write."""
        ...

    @property
    def confirm_seconds(self) -> float:
        """How long after an acknowledgement it is worth asking whether the write shows."""
        ...

    @property
    def removal_grace_ms(self) -> int:
        """How long a removal has to wait for upserts that were sent before it and may arrive after it.

        0: a removed vector is gone for good once the index acknowledges the removal, because it leaves
        out an upsert that is older than a removal.
        """
        ...

    @property
    def filterable(self) -> Collection[str] | None:
        """The metadata keys that the index filters on, None for all: a change of one requires a write of the vector."""
        ...

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        """Return at least the ``top_k`` most similar vectors of the scope that pass the filter, best first.

        The filter is applied before anything is counted. An adapter may leave out a part of it that its
        index cannot apply: its hits then hold all that pass and others, and ``filtered`` tells when they
        do not reach far enough.

        Raises:
            Unavailable: the index cannot be asked; never an empty answer instead.
        """
        ...

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        """Add vectors, or replace the vectors of the same id, values and metadata as a whole.

        Returns the moment of the acknowledgement by the index's own clock, to compare with ``watermark``.
        A vector that is older than that in the index, or queued before a removal that came first, is left out, so that
        calls may overtake each other; an adapter whose index cannot compare revisions may let the last to arrive win.

        Raises:
            VectorRefused: the index does not take one of the vectors as it is; some others may have been written.
            Unavailable: the index cannot be written; some of the vectors may have been.
        """
        ...

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove vectors of the scope; an absent id is no error, one of another scope stays.

        Returns the moment of the acknowledgement, as ``upsert`` does.

        Raises:
            Unavailable: the index cannot be written; some of the vectors may be gone.
        """
        ...

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors the index shows under these ids, where they are the tenant's; others are left out.

        Raises:
            Unavailable: the index cannot be asked.
        """
        ...
