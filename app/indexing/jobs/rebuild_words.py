"""Makes the index of words again from the memories, in bounded steps. Crosses tenants; no request imports it."""

from collections.abc import Awaitable, Callable

import structlog

from app.ports.database import Database, WordsDamaged
from app.storage.rows import read_row
from app.storage.system import words_index
from app.storage.system.words_index import WordsCount, read_state

_COMPARED = 50_000
"""Up to so many memories the words of each are compared: about a second, during which nobody writes."""
_CHECKED = 1_000_000
"""Up to so many memories the blocks are checked, which takes about three seconds."""


async def rebuild_words(
    database: Database, before_each: Callable[[], Awaitable[object]], *, anew: bool = False
) -> None:
    """Index the memories that are not in the index of words; where it is damaged, or ``anew``, all of them.

    Meanwhile a store writes its words itself or leaves them to this. Where it stops, the next one goes on.
    ``before_each`` is awaited before each run of the database.

    Raises:
        Unavailable: the database does not answer.
        WordsDamaged: the index was damaged while it was made.
    """
    log = structlog.get_logger()
    await before_each()
    (rows,) = await database.run([words_index.READ_STATE])
    state = read_state(rows)
    if state.damaged or anew:
        log.warning("words_made_again", lost=state.lost)
        await before_each()
        *_, rows = await database.run([*words_index.RESET, words_index.READ_STATE])
        state = read_state(rows)
    elif state.complete:
        return
    while not state.complete:
        await before_each()
        *_, rows = await database.run(words_index.REFILL_STEP)
        state = read_state(rows)
        if state.damaged:
            raise WordsDamaged("The index of words was damaged while it was made again.")
    log.info("words_complete")


async def count_missing_words(database: Database) -> int:
    """Return how many memories are not in the index of words: all of them where it is damaged, which is then marked.

    FTS5 compares the words of up to 50,000 memories, and of up to a million checks the blocks alone.

    Raises:
        Unavailable: the database does not answer.
    """
    ((row,),) = await database.run([words_index.COUNT])
    count = read_row(WordsCount, row)
    if count.missing or count.memories > _CHECKED:
        return count.missing
    check = words_index.CHECK_WORDS if count.memories <= _COMPARED else words_index.CHECK_BLOCKS
    try:
        await database.run([check])
    except WordsDamaged:
        return count.memories
    return 0
