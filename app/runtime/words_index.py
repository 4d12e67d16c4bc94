"""Merges the index of words now and then."""

import asyncio
from collections.abc import Callable

from app.indexing.jobs.merge_words import merge_words
from app.ports.database import Database
from app.runtime.attempts import attempt


async def keep_words_merged(database: Database, ready: Callable[[], bool], seconds: float) -> None:
    """Merge the index of words, again after so many seconds, until cancelled."""
    while True:
        if ready():
            await attempt(lambda: merge_words(database), waits="words_merge_waits")
        await asyncio.sleep(seconds)
