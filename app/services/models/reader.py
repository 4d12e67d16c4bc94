"""A reader for one tenant's requests: within the tenant's share, and within a deadline."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from app.domain.errors import ReaderUnavailable
from app.domain.reading import Kinds, Relation, Thresholds
from app.ports.reader import Reader
from app.services.turns.shares import Shares

READER_SECONDS: Final = 0.5
"""Seconds that a request waits for a reader, which is in its process: many times what a reading takes."""

_T = TypeVar("_T")


class TenantReader:
    """Reads for one tenant's requests. Each call has a deadline for its turn and its reading together.

    The methods are those of ``app.ports.reader.Reader``, and raise ``ReaderUnavailable`` as they do.
    """

    def __init__(self, tenant_id: str, reader: Reader, shares: Shares, seconds: float) -> None:
        """Bind the tenant; ``seconds`` is the time that a request waits."""
        self._tenant_id = tenant_id
        self._reader = reader
        self._shares = shares
        self._seconds = seconds

    @property
    def version(self) -> str:
        """The name of the model's weights."""
        return self._reader.version

    @property
    def thresholds(self) -> Thresholds:
        """The probabilities from which on the reader is believed."""
        return self._reader.thresholds

    async def relations(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Relation]:
        """Return for each pair of an older and a newer statement how the newer one bears on the older."""
        read = self._reader.relations
        return await self._within(lambda seconds: read(pairs, tenant_id=self._tenant_id, seconds=seconds))

    async def relevance(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return for each text how likely it is that the text answers the question, or once did, 0 to 1."""
        read = self._reader.relevance
        return await self._within(lambda seconds: read(question, texts, tenant_id=self._tenant_id, seconds=seconds))

    async def kinds(self, texts: Sequence[str]) -> Sequence[Kinds]:
        """Return for each text how likely it is of each kind."""
        read = self._reader.kinds
        return await self._within(lambda seconds: read(texts, tenant_id=self._tenant_id, seconds=seconds))

    async def follows(self, claims: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return for each pair, of sources joined by line ends and a claim, how likely the claim follows from them."""
        read = self._reader.follows
        return await self._within(lambda seconds: read(claims, tenant_id=self._tenant_id, seconds=seconds))

    async def _within(self, read: Callable[[float], Awaitable[_T]]) -> _T:
        try:
            left = await self._shares.acquire_within(self._tenant_id, 1, self._seconds)
        except TimeoutError as error:
            raise ReaderUnavailable("Earlier requests of the tenant kept the reader busy.") from error
        try:
            return await read(left)
        finally:
            self._shares.release(self._tenant_id, 1)
