"""Keeps the index of words quick to search and free of deleted words. Crosses tenants; no request imports it."""

import asyncio
from collections.abc import Collection

from app.indexing.jobs.rebuild_words import limited, rebuild_words
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database
from app.storage.system import words_index
from app.storage.system.words_index import has_merged, read_state

_MAX_STEPS = 20
_PAUSE_SECONDS = 0.1
"""The pause between steps: requests go first."""


async def merge_words(database: Database, *, pause: float = _PAUSE_SECONDS) -> int:
    """Merge b-trees of the index of words until few are left, and return the number of steps, 20 at most.

    A search looks into each b-tree. After ten thousand stores there are up to fifteen, and after a merge two to four.
    Blocks that an older version wrote may hold the words of deleted memories; they are written anew once. Where the
    index is damaged, or lacks memories, it is made again instead, with ``pause`` seconds between steps.

    Raises:
        Unavailable: the database does not answer.
        WordsDamaged: the index was damaged while it was made again.
    """
    for step in range(_MAX_STEPS):
        answers = await database.run(words_index.MERGE_STEP)
        state = read_state(answers[0])
        if not state.complete:
            await rebuild_words(limited(database, RateLimiter(60 / pause)))
            return step
        if not has_merged(answers) and not await _go_on_with_old_blocks(database, state.old_blocks):
            return step
        await asyncio.sleep(_PAUSE_SECONDS)
    return _MAX_STEPS


async def _go_on_with_old_blocks(database: Database, state: int) -> bool:
    """Begin to write old blocks anew, or note that they are written; return whether more is to be merged."""
    if state == 1:
        await database.run([words_index.OLD_BLOCKS_WRITTEN])
    return state > 1 and has_merged(await database.run(words_index.WRITE_OLD_BLOCKS))


async def write_words_anew(database: Database, rate_limiter: RateLimiter) -> None:
    """Write all blocks of the index of words anew: they then hold no word of memories that were deleted before.

    Raises:
        Unavailable: the database does not answer.
        WordsDamaged: the index was damaged while it was made again.
    """
    run = limited(database, rate_limiter)
    await rebuild_words(run)
    answers = await run(words_index.WRITE_ANEW)
    while has_merged(answers):
        answers = await run(words_index.GO_ON_WRITING)


class DeletedWords:
    """Writes the index of words anew for erasures whose memories are deleted, in bounded steps.

    FTS5 takes the words of a deleted memory out of its blocks, but between two blocks it keeps the first letters of a
    word that separate them, which may be all its letters. Erasures that wait share one writing of the index.
    """

    def __init__(self, database: Database) -> None:
        """Take the database."""
        self._database = database
        self._begun = self._finished = 0
        """How many writings were begun, and the number of the last finished one."""
        self._needed: dict[str, int] = {}
        """By erasure, the number of the writing that it waits for, which begins after its memories were deleted."""

    async def gone_of(self, erasures: Collection[str]) -> set[str]:
        """Go on with the writing, and return those of the erasures, whose memories are deleted, that wait no longer.

        While the index is damaged all wait: its blocks keep their words until it is made again.

        Raises:
            Unavailable: the database does not answer; the next call continues.
        """
        for erasure in erasures:
            self._needed.setdefault(erasure, self._begun + 1)
        for _ in range(_MAX_STEPS):
            if all(self._needed[erasure] <= self._finished for erasure in erasures) or not await self._step():
                break
        return {erasure for erasure in erasures if self._needed[erasure] <= self._finished}

    def forget(self, erasure: str) -> None:
        """Forget an erasure that has its receipt."""
        self._needed.pop(erasure, None)

    async def _step(self) -> bool:
        """Begin to write the index anew, or go on writing it; return whether it could be written."""
        begins = self._begun == self._finished
        answers = await self._database.run(words_index.WRITE_ANEW if begins else words_index.GO_ON_WRITING)
        if read_state(answers[0]).damaged:
            self._finished = self._begun  # the writing that was begun counts for no erasure any more
            self._needed = dict.fromkeys(self._needed, self._begun + 1)
            return False
        self._begun += begins
        if not has_merged(answers):
            self._finished = self._begun
        return True
