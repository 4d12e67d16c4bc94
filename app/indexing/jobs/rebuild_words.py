"""Makes the index of words again from the memories, in bounded steps. Crosses tenants; no request imports it."""

from collections.abc import Sequence

import structlog

from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement, WordsDamaged
from app.storage.damaged_words import Run
from app.storage.rows import read_row
from app.storage.system import words_index
from app.storage.system.words_index import WordsCount, read_state

_COMPARED = 50_000
"""Up to this number of memories the words of each are compared: about a second, during which no process writes."""
_CHECKED = 1_000_000
"""Up to this number of memories the blocks are checked, which takes about three seconds."""


def limited(database: Database, rate_limiter: RateLimiter) -> Run:
    """Return a function that runs statements on a database, each run when the rate limiter lets it through."""

    async def run(statements: Sequence[Statement]) -> list[list[Row]]:
        await rate_limiter.spend()
        return await database.run(statements)

    return run


async def rebuild_words(run: Run, *, anew: bool = False) -> None:
    """Index the memories that are not in the index of words; where it is damaged, or with ``anew``, all memories.

    Meanwhile a store writes its words itself or leaves them to this function. A call that stops is continued by the
    next one. ``run`` runs the statements of each step on the database.

    Raises:
        Unavailable: the database does not answer.
        WordsDamaged: the index was damaged while it was made.
    """
    log = structlog.get_logger()
    (rows,) = await run([words_index.READ_STATE])
    state = read_state(rows)
    if state.damaged or anew:
        log.warning("words_made_again", lost=state.lost)
        *_, rows = await run([*words_index.RESET, words_index.READ_STATE])
        state = read_state(rows)
    elif state.complete:
        return
    while not state.complete:
        *_, rows = await run(words_index.REFILL_STEP)
        state = read_state(rows)
        if state.damaged:
            raise WordsDamaged("The index of words was damaged while it was made again.")
    log.info("words_complete")


async def count_missing_words(run: Run) -> int:
    """Return how many memories are not in the index of words: all memories where a check finds the index damaged.

    FTS5 compares the words of up to 50,000 memories; of up to a million memories it checks only the blocks. An index
    that is found to be damaged is marked.

    Raises:
        Unavailable: the database does not answer.
    """
    ((row,),) = await run([words_index.COUNT])
    count = read_row(WordsCount, row)
    if count.missing or count.memories > _CHECKED:
        return count.missing
    check = words_index.CHECK_WORDS if count.memories <= _COMPARED else words_index.CHECK_BLOCKS
    try:
        await run([check])
    except WordsDamaged:
        return count.memories
    return 0
