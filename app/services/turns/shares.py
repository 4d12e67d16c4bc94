"""Shares: the work that one tenant may have under way at a backend, so that others find room (docs/limits.md)."""

import asyncio
from collections import deque

TEXT_CHARACTERS = 64 * 1024
"""Characters of a tenant that are being embedded at once."""
LONG_CALL_CHARACTERS = 4 * 1024
"""A call that embeds more characters is long: it takes the time of many queries."""
LONG_TEXT_CHARACTERS = TEXT_CHARACTERS // 2
"""Characters of long calls of a tenant that are being embedded at once: the rest is free for its recalls."""
READS = 8
"""Runs of a tenant that only read, at once."""
INDEX_QUERIES = 32
"""Queries of a tenant's recalls to an index over the network, at once: a third of the connections for them."""
INGEST_BYTES = 64 * 1024 * 1024
"""Bytes of a tenant's messages that are read and taken at once."""
BLOB_BYTES = 64 * 1024 * 1024
"""Bytes of a tenant's blobs that are taken and given out at once."""
READINGS = 8
"""Requests of a tenant that wait for the reader at once."""
RERANKINGS = 8
"""Recalls of a tenant that are reranked at once."""
LEARNING_CALLS = 4
"""Calls of a language model that a tenant's ingestions make at once."""
ALL_LEARNING_CALLS = 24
"""Calls of a language model that the ingestions of all tenants make at once."""
RECALL_CALLS = 8
"""Calls of a language model that a tenant's recalls make at once."""
_SHORTEST = 0.001
"""The least seconds that a call has."""


class Share:
    """One tenant's share of a backend. Calls beyond the share wait, in the order in which they came."""

    def __init__(self, most: int) -> None:
        """Allow calls of a total size of ``most`` at once."""
        self._most = most
        self._used = 0
        self._waiting: deque[tuple[int, float, asyncio.Future[None]]] = deque()
        self._waited = 0.0

    @property
    def lag(self) -> float:
        """Seconds that the call admitted last had waited; 0 where no call waits now."""
        return self._waited if self._waiting else 0.0

    @property
    def idle(self) -> bool:
        """Whether no call is under way, and no call waits."""
        return not (self._used or self._waiting)

    async def acquire(self, size: int) -> None:
        """Wait for room, and hold it until ``release``; a call that is larger than the whole share goes alone."""
        size = self._bounded(size)
        if not self._waiting and self._used + size <= self._most:
            self._used += size
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append((size, loop.time(), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the call was given its room just now
                self._used -= size
            self._admit()
            raise

    def release(self, size: int) -> None:
        """Give back the room of an ``acquire`` of the same size."""
        self._used -= self._bounded(size)
        self._admit()

    def _bounded(self, size: int) -> int:
        return max(1, min(size, self._most))

    def _admit(self) -> None:
        """Give room to the waiting calls in their order; a call that was cancelled is dropped."""
        while self._waiting:
            size, asked_at, turn = self._waiting[0]
            if not turn.done():
                if self._used + size > self._most:
                    return
                self._used += size
                self._waited = turn.get_loop().time() - asked_at
                turn.set_result(None)
            self._waiting.popleft()


class Shares:
    """The shares of all tenants that have calls under way."""

    def __init__(self, most: int) -> None:
        """Allow each tenant calls of a total size of ``most`` at once."""
        self._most = most
        self._of: dict[str, Share] = {}

    def take(self, tenant_id: str, size: int) -> "HeldShare":
        """Return a context that holds ``size`` of a tenant's share."""
        return HeldShare(self, tenant_id, size)

    def lag(self, tenant_id: str) -> float:
        """Return the lag of a tenant's share, in seconds."""
        share = self._of.get(tenant_id)
        return 0.0 if share is None else share.lag

    async def acquire(self, tenant_id: str, size: int) -> None:
        """Wait for room in a tenant's share, and hold it until ``release``."""
        share = self._of.setdefault(tenant_id, Share(self._most))
        try:
            await share.acquire(size)
        finally:
            self._forget(tenant_id, share)

    async def acquire_within(self, tenant_id: str, size: int, seconds: float) -> float:
        """Wait at most ``seconds`` for room, hold it until ``release``, and return the seconds that a call has left.

        Raises:
            TimeoutError: there was no room in time, and no room is held.
        """
        clock = asyncio.get_running_loop().time
        ends = clock() + seconds
        async with asyncio.timeout_at(ends):
            await self.acquire(tenant_id, size)
        return max(ends - clock(), _SHORTEST)

    def release(self, tenant_id: str, size: int) -> None:
        """Give back the room of an ``acquire`` of the same size."""
        share = self._of[tenant_id]
        share.release(size)
        self._forget(tenant_id, share)

    def _forget(self, tenant_id: str, share: Share) -> None:
        if share.idle and self._of.get(tenant_id) is share:  # a new share may have taken its place meanwhile
            del self._of[tenant_id]


class HeldShare:
    """Holds a part of a tenant's share while it is entered."""

    __slots__ = ("_shares", "_size", "_tenant_id")

    def __init__(self, shares: Shares, tenant_id: str, size: int) -> None:
        """Take the share of a tenant, and the size to hold."""
        self._shares, self._tenant_id, self._size = shares, tenant_id, size

    async def __aenter__(self) -> None:
        """Wait for room."""
        await self._shares.acquire(self._tenant_id, self._size)

    async def __aexit__(self, *_: object) -> None:
        """Give the room back."""
        self._shares.release(self._tenant_id, self._size)
