"""Delivers vectors to their index for the requests that have queued them (docs/reliability.md, ADR 0049).

An index that is slow delays no store: its writes go on after their request was answered. Acknowledgements are kept
until the indexer's next run writes them. A delivery that is lost is made up for by the indexer, from the outbox.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

import structlog

from app.domain.delivery import Acknowledgement, OutboxKey, Outcome
from app.domain.errors import Unavailable
from app.ports.vector_index import IndexedVector, VectorIndex

MOST = 256
"""Index writes that are under way at once. Further writes stay in the outbox, for the indexer."""
CLOSE_SECONDS = 5.0
"""How long a process that stops waits for the writes that are under way."""
BATCH_SECONDS = 2.0
"""How long work in batches waits for the index before it goes on with the next batch."""


class Acknowledgements:
    """The delivery acknowledgements of one process, and the event that wakes its indexer."""

    def __init__(self) -> None:
        """Start with no acknowledgements."""
        self._acknowledgements: dict[OutboxKey, Acknowledgement] = {}
        self._awake = asyncio.Event()

    def add(self, acknowledgement: Acknowledgement) -> None:
        """Keep an acknowledgement until it is written, and wake the indexer.

        A later outcome of the same revision replaces an earlier one, except that ``acknowledged`` replaces nothing,
        because the first acknowledgement counts.
        """
        if acknowledgement.outcome != "acknowledged" or acknowledgement.key not in self._acknowledgements:
            self._acknowledgements[acknowledgement.key] = acknowledgement
        self._awake.set()

    def take(self, limit: int) -> list[Acknowledgement]:
        """Return and remove at most ``limit`` acknowledgements, the oldest first."""
        taken = list(self._acknowledgements.values())[:limit]
        for acknowledgement in taken:
            del self._acknowledgements[acknowledgement.key]
        return taken

    def put_back(self, acknowledgements: Iterable[Acknowledgement]) -> None:
        """Keep acknowledgements that could not be written, unless a later one was added meanwhile."""
        self._acknowledgements = {
            acknowledgement.key: acknowledgement for acknowledgement in acknowledgements
        } | self._acknowledgements

    def wake(self) -> None:
        """Wake the indexer."""
        self._awake.set()

    async def wait(self, seconds: float) -> None:
        """Return when the indexer is woken, or after this many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        except TimeoutError:
            return
        finally:
            self._awake.clear()

    def __len__(self) -> int:
        """Return how many acknowledgements wait to be written."""
        return len(self._acknowledgements)


def deferred(operation: str, error: Unavailable) -> None:
    """Log an operation that is left to the indexer."""
    structlog.get_logger().warning("index_write_deferred", operation=operation, code=error.code)


class Deliveries:
    """The index writes of one shard's requests that are under way. The indexer makes up for writes that are lost.

    A write to an index on this machine, which shows it at once, is waited for: such a write is quick, and its row then
    leaves the outbox without another look.
    """

    def __init__(self, acknowledgements: Acknowledgements | None = None, most: int = MOST) -> None:
        """Begin with no writes; each delivery is added to the ``acknowledgements``."""
        self.acknowledgements = Acknowledgements() if acknowledgements is None else acknowledgements
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()

    async def deliver(
        self,
        index: VectorIndex,
        index_name: str,
        vectors: Sequence[IndexedVector],
        *,
        first_time: bool,
        wait_seconds: float = 0.0,
    ) -> None:
        """Begin to send vectors, and wait ``wait_seconds`` at most; a write that fails is left to the indexer.

        ``first_time``: no memory of these vectors existed before.
        """
        if index.visible_at_once:
            await self._send(index, index_name, vectors, first_time=first_time)
        else:
            send = partial(self._send, index, index_name, vectors, first_time=first_time)
            await self._begin("upsert", send, wait_seconds)

    async def remove(self, index: VectorIndex, key: OutboxKey) -> None:
        """Begin to remove the vector of a memory that is gone; a removal that fails is left to the indexer."""
        if index.visible_at_once:
            await self._remove(index, key)
        else:
            await self._begin("delete", partial(self._remove, index, key))

    async def _send(
        self, index: VectorIndex, index_name: str, vectors: Sequence[IndexedVector], *, first_time: bool
    ) -> None:
        """Send vectors and acknowledge their delivery; vectors that fail stay in the outbox for the indexer."""
        try:
            at = await index.upsert(vectors)
        except Unavailable as error:
            deferred("upsert", error)
            return
        # Where writes are visible at once, a recall that begins after a first store finds its vector in the index:
        # nothing is left to confirm. A recall that began before a second store may have searched the index too early,
        # so that the row is needed for a while.
        outcome: Outcome = "settled" if index.visible_at_once and first_time else "acknowledged"
        for vector in vectors:
            key = OutboxKey(vector.scope, vector.id, index_name, vector.revision)
            confirm_ms = int(index.confirm_seconds * 1000)
            self.acknowledgements.add(Acknowledgement(key, outcome, at, confirm_ms=confirm_ms))

    async def _remove(self, index: VectorIndex, key: OutboxKey) -> None:
        """Remove a vector, and acknowledge the removal; where it fails, its row stays in the outbox for the indexer."""
        try:
            await index.delete(key.scope, [key.id])
        except Unavailable as error:
            deferred("delete", error)
            return
        if index.removal_grace_ms == 0:  # else an upsert that is under way may still arrive behind the removal
            self.acknowledgements.add(Acknowledgement(key, "settled"))

    async def settle(self, seconds: float | None = None) -> None:
        """Wait for the writes that are under way now, for this many seconds at most."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait for the writes that are under way, then cancel those that are left."""
        await self.settle(seconds)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _begin(self, operation: str, write: Callable[[], Awaitable[None]], wait_seconds: float = 0.0) -> None:
        if len(self._tasks) >= self._most:
            deferred(operation, Unavailable("As many index writes are under way as may be."))
            return
        task = asyncio.create_task(_written(write), name="delivery")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if wait_seconds:
            await asyncio.wait([task], timeout=wait_seconds)


async def _written(write: Callable[[], Awaitable[None]]) -> None:
    try:
        await write()
    except Exception:  # noqa: BLE001 - a defect, which no request is told of
        structlog.get_logger().exception("background_failed")
