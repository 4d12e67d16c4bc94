"""The part of a vector index that crosses scopes: for the indexer, the eraser, reconcile and re-embedding."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.embedding import Vector
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.vector_index import VectorIndex


@dataclass(frozen=True, slots=True)
class IndexRecord:
    """The record of an id in the index, without the vector's values: its scope and the revision that was last written.

    ``embedding`` is the ``label`` of the embedding config the vector was made with.
    """

    scope: Scope
    revision: int
    embedding: str


@dataclass(frozen=True, slots=True)
class Expected:
    """The record of a memory that the index should show; values that are None are not compared."""

    scope: Scope
    id: str
    created_at: int
    metadata: Mapping[str, Json]
    values: Vector | None = None


@dataclass(frozen=True, slots=True)
class IdPage:
    """A page of an index's ids, of every scope. ``cursor`` asks for the next page; None: this was the last.

    ``unreadable`` are the ids of the page whose vectors are damaged; a search leaves these vectors out.
    """

    ids: Sequence[str]
    cursor: str | None
    unreadable: Sequence[str] = ()


class CountsUnreadable(ABC):
    """An index whose vectors may be damaged: one that lies in a file. An adapter says so by its base class."""

    @abstractmethod
    async def count_unreadable(self) -> int:
        """Return how many vectors, of all scopes, have another length than the config's, or a value that is not finite.

        Raises:
            Unavailable: the index cannot be asked.
        """
        ...


class IndexAdmin(VectorIndex, Protocol):
    """A vector index with the methods that cross scopes. Every adapter has these methods; no request is given them."""

    @property
    def backend(self) -> str:
        """A short name for operators, such as ``sqlite-exact``."""
        ...

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        """Return the records that the index shows under these ids, of any scope; an id without a record is left out.

        Raises:
            Unavailable: the index cannot be asked.
        """
        ...

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        """Return whether the index shows the expected record under each id; an id that it does not show is left out.

        The comparison covers the scope, ``created_at``, the metadata that the index filters on, the embedding config
        and the values, where they are given. It leaves out the revision.

        Raises:
            Unavailable: the index cannot be asked.
        """
        ...

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        """Return a page of the ids the index shows, of every scope, each at least once over all pages.

        Raises:
            CursorExpired: the index no longer knows the cursor; the listing has to begin anew.
            Unavailable: the index cannot be asked.
        """
        ...

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        """Return ids of some vectors that a search of the agent, or of the whole tenant, finds; empty if it finds none.

        Raises:
            Unavailable: the index cannot be asked.
        """
        ...

    async def destroy(self) -> None:
        """Remove the index with all it holds, of every scope; an absent one is no error.

        Raises:
            Unavailable: the index cannot be reached; it may be gone.
        """
        ...

    async def watermark(self) -> int:
        """Return the moment (ms since the epoch) up to which every acknowledged write is visible."""
        ...

    async def ping(self) -> None:
        """Return if the index answers; raise as ``query`` does if not."""
        ...
