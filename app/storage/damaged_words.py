"""Runs where the index of words is damaged: they go on without the index, because the memories are all there.

The triggers of memories keep this index (schema.sql). Once it is marked as damaged they leave it alone,
until a job has made it again (``app.indexing.jobs.merge_words``).
"""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from app.domain.errors import Unavailable
from app.ports.database import Row, Statement, WordsDamaged

ALL_INDEXED = 9007199254740991
"""``words_index.indexed_to`` where all memories are in the index."""

MARK_DAMAGED = Statement.write("UPDATE words_index SET indexed_to = -1 WHERE indexed_to <> -1")
"""Say that the index is damaged; nothing is read from it or written to it until it is made again."""

Run = Callable[[Sequence[Statement]], Awaitable[list[list[Row]]]]


async def go_on(run: Run, statements: Sequence[Statement], damage: WordsDamaged) -> list[list[Row]]:
    """Mark the index as damaged, as a run of these statements has found, and make the run again if it writes.

    Raises:
        WordsDamaged: no statement writes, so that one reads the index itself; a recall makes do without the index.
        Unavailable, DatabaseRejected: as ``run`` does.
    """
    structlog.get_logger().error("words_damaged", reason=damage.detail)
    if any(statement.writes for statement in statements):
        await run([MARK_DAMAGED])
        return await run(statements)
    try:
        await run([MARK_DAMAGED])
    except Unavailable as error:  # a run that only reads needs no database that can be written
        structlog.get_logger().warning("words_not_marked", code=error.code, reason=error.detail)
    raise damage
