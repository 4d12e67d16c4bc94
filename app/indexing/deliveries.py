"""Index writes that go on after their requests were answered: an index that is slow delays no store (ADR 0049)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from app.domain.delivery import OutboxKey
from app.domain.errors import Unavailable
from app.indexing.delivery import AcknowledgementSink, deferred, deliver, remove
from app.ports.vector_index import IndexedVector, VectorIndex

MOST = 256
"""Under way at once. What comes beyond is in the outbox, and the indexer's."""
CLOSE_SECONDS = 5.0
"""How long a process that stops waits for those under way."""
BATCH_SECONDS = 2.0
"""How long work in batches waits for the index before it goes on with the next batch."""


class Deliveries:
    """The index writes of one shard's requests that are under way. Whatever of them is lost, the indexer does.

    A write to an index on this machine, which shows it at once, is waited for: it is quick, and its row then leaves the
    outbox without another look.
    """

    def __init__(self, most: int = MOST) -> None:
        """Begin with none."""
        self._most = most
        self._tasks: set[asyncio.Task[None]] = set()

    async def deliver(
        self,
        index: VectorIndex,
        index_name: str,
        vectors: Sequence[IndexedVector],
        acknowledgements: AcknowledgementSink,
        *,
        first_time: bool,
        wait_seconds: float = 0.0,
    ) -> None:
        """Begin to send vectors, as ``delivery.deliver`` does, and wait so long for the index at most."""
        send = partial(deliver, index, index_name, vectors, acknowledgements, first_time=first_time)
        await self._begin("upsert", send, at_once=index.visible_at_once, wait_seconds=wait_seconds)

    async def remove(self, index: VectorIndex, key: OutboxKey, acknowledgements: AcknowledgementSink) -> None:
        """Begin to remove a vector, as ``delivery.remove`` does."""
        await self._begin("delete", partial(remove, index, key, acknowledgements), at_once=index.visible_at_once)

    async def settle(self, seconds: float | None = None) -> None:
        """Wait for what is under way now, for so many seconds at most."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=seconds)

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait for what is under way, then end what is left."""
        await self.settle(seconds)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _begin(
        self, operation: str, write: Callable[[], Awaitable[None]], *, at_once: bool, wait_seconds: float = 0.0
    ) -> None:
        if at_once:
            await write()
            return
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
    except Exception:  # noqa: BLE001 - a defect, of which no request is told any more
        structlog.get_logger().exception("background_failed")
