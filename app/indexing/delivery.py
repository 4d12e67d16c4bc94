"""Brings vectors that have just been queued to their index, as the request that queued them does."""

from collections.abc import Sequence
from typing import Protocol

import structlog

from app.domain.delivery import Acknowledgement, Kind, RowKey
from app.domain.errors import Unavailable
from app.ports.vector_index import IndexedVector, VectorIndex


class Outcomes(Protocol):
    """Takes what becomes of vectors on their way to the index."""

    def add(self, acknowledgement: Acknowledgement, /) -> None:
        """Keep an acknowledgement for the indexer."""
        ...

    def wake(self) -> None:
        """Have the indexer look now."""
        ...


async def deliver(
    index: VectorIndex,
    index_name: str,
    vectors: Sequence[IndexedVector],
    acknowledgements: Outcomes,
    *,
    first_time: bool,
) -> None:
    """Send the vectors and mark what became of them; what fails stays in the outbox for the indexer.

    ``first_time``: none of their memories was there before.
    """
    try:
        at = await index.upsert(vectors)
    except Unavailable as error:
        deferred("upsert", error)
        return
    # Where it shows at once, a recall that begins after a first store finds it there: nothing is left to confirm.
    # One that began before a second store may have asked the index too early, and needs the row a while yet.
    kind: Kind = "settled" if index.visible_at_once and first_time else "acknowledged"
    for vector in vectors:
        row = RowKey(vector.scope, vector.id, index_name, vector.revision)
        acknowledgements.add(Acknowledgement(row, kind, at, confirm_ms=int(index.confirm_seconds * 1000)))


def deferred(operation: str, error: Unavailable) -> None:
    """Tell the log what is left to the indexer."""
    structlog.get_logger().warning("index_write_deferred", operation=operation, code=error.code)
