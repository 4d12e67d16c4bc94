"""Adds to older memories the segments and claims that newer ones have. Crosses tenants; no request imports it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from app.domain.claim import Stated
from app.domain.explicit import read_explicit, read_fact, said_by
from app.domain.facts import fact_in
from app.domain.memory import STORE_KEY
from app.domain.reading import are_tasks
from app.domain.words import segments
from app.language.dates.days import dated_once
from app.ports.database import Database
from app.ports.reader import Reader
from app.storage.rows import read_rows
from app.storage.system import unread
from app.storage.system.segments import READ_BATCH, Unsegmented, write
from app.storage.system.task_expiries import ExpiringTask, free, read_batch
from app.storage.system.unread import Unread

_PAUSE_SECONDS = 0.5
"""Between batches: requests go first."""


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


async def backfill_claims(database: Database) -> int:
    """Add the claims of facts and topics that have none of this version, and return how many memories were read.

    These memories, but for the rows that a program keeps for itself, wait for a reader then, which may come later. The
    backfill makes room for requests between memories and between batches. Each batch is one transaction, and may be
    made twice: a backfill that stops is continued by the next one, and two at once do the same.

    Raises:
        Unavailable: the database does not answer.
    """
    read = 0
    (rows,) = await database.run([unread.READ_BATCH])
    while rows:
        made = {}
        for memory in read_rows(Unread, rows):
            made[memory.id] = _stated(memory)
            await asyncio.sleep(0)
        *_, rows = await database.run([*unread.write(made), unread.READ_BATCH])
        read += len(made)
        await asyncio.sleep(_PAUSE_SECONDS if rows else 0)
    return read


async def free_tasks(database: Database, reader: Reader | None) -> int:
    """Free memories of the expiry that an older version gave them as tasks; return how many were freed.

    A memory keeps the expiry where the reader calls it a task too and it is due once, on a day that it names; without a
    reader no memory keeps it. An expiry that a caller asked for stays. Each batch is one transaction, and may be made
    twice.

    Raises:
        Unavailable: the database or the reader does not answer.
    """
    freed, last = 0, None
    while rows := (await database.run([read_batch(last)]))[0]:
        tasks = read_rows(ExpiringTask, rows)
        last = tasks[-1]
        passing = set() if reader is None else await _passing(tasks, reader)
        lasting = [task.id for task in tasks if task.id not in passing]
        if lasting:
            await database.run([free(lasting)])
            freed += len(lasting)
    return freed


async def _passing(tasks: Sequence[ExpiringTask], reader: Reader) -> set[str]:
    """Return the ids of the memories that are tasks and are due once."""
    passing = set[str]()
    for task in tasks:
        parts = dated_once(task.content)
        if parts and are_tasks(await reader.kinds(parts), reader.thresholds):
            passing.add(task.id)
        await asyncio.sleep(0)
    return passing


def _stated(memory: Unread) -> Stated:
    """Return what a memory states explicitly, as far as its author may say so."""
    if STORE_KEY in memory.metadata:
        return Stated()
    stated = read_explicit(memory.metadata, memory.learned, memory.content, memory.type)
    fact = None if memory.learned is not None else fact_in(memory.metadata)
    if fact is not None and any(key.count("/") == 1 for key in memory.keys):
        # Rules found that one object of its predicate holds at a time: a fact that was replaced is not to hold again.
        stated = replace(read_fact(replace(fact, single=True)), waits=True)
    return said_by(stated, memory.speakers) if memory.speaker_holds else replace(stated, claims=())
