"""Adds segments to the memories that were stored before segments existed. Crosses tenants; no request imports it."""

from app.domain.words import segments
from app.ports.database import Database
from app.storage.rows import read_rows
from app.storage.system.segments import READ_BATCH, Unsegmented, write


async def backfill_segments(database: Database) -> None:
    """Add the segments that are missing, batch by batch.

    Each batch is one transaction: a backfill that stops is continued by the next one.

    Raises:
        Unavailable: the database does not answer.
    """
    (rows,) = await database.run([READ_BATCH])
    while rows:
        batch = read_rows(Unsegmented, rows)
        _, rows = await database.run([write({memory.id: segments(memory.content) for memory in batch}), READ_BATCH])
