"""Delivers vectors to their index within the request that has queued them."""

from collections.abc import Sequence
from typing import Protocol

import structlog

from app.domain.delivery import Acknowledgement, OutboxKey, Outcome
from app.domain.errors import Unavailable
from app.ports.vector_index import IndexedVector, VectorIndex


class AcknowledgementSink(Protocol):
    """Receives the delivery acknowledgements of requests."""

    def add(self, acknowledgement: Acknowledgement, /) -> None:
        """Keep an acknowledgement for the indexer."""
        ...

    def wake(self) -> None:
        """Wake the indexer."""
        ...


async def deliver(
    index: VectorIndex,
    index_name: str,
    vectors: Sequence[IndexedVector],
    acknowledgements: AcknowledgementSink,
    *,
    first_time: bool,
) -> None:
    """Send vectors and acknowledge their delivery; what fails stays in the outbox for the indexer.

    ``first_time``: none of their memories existed before.
    """
    try:
        at = await index.upsert(vectors)
    except Unavailable as error:
        deferred("upsert", error)
        return
    # Where writes are visible at once, a recall that begins after a first store finds its vector in the index: nothing
    # is left to confirm. A recall that began before a second store may have searched the index too early, so that the
    # row is needed for a while.
    outcome: Outcome = "settled" if index.visible_at_once and first_time else "acknowledged"
    for vector in vectors:
        key = OutboxKey(vector.scope, vector.id, index_name, vector.revision)
        acknowledgements.add(Acknowledgement(key, outcome, at, confirm_ms=int(index.confirm_seconds * 1000)))


async def remove(index: VectorIndex, key: OutboxKey, acknowledgements: AcknowledgementSink) -> None:
    """Remove the vector of a memory that is gone; what fails stays in the outbox for the indexer."""
    try:
        await index.delete(key.scope, [key.id])
    except Unavailable as error:
        deferred("delete", error)
        return
    if index.removal_grace_ms == 0:  # else an upsert that is under way may still arrive behind it
        acknowledgements.add(Acknowledgement(key, "settled"))


def deferred(operation: str, error: Unavailable) -> None:
    """Log an operation that is left to the indexer."""
    structlog.get_logger().warning("index_write_deferred", operation=operation, code=error.code)
