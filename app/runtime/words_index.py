"""Merges the index of words now and then, and makes it again where it is damaged."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from app.indexing.jobs.merge_words import merge_words
from app.ports.database import Database
from app.runtime.attempts import attempt

_STEPS = 300
"""Of making it again, in the time between two merges."""


async def keep_words_merged(
    database: Database, ready: Callable[[], bool], seconds: float, missing: asyncio.Event
) -> None:
    """Merge the index of words, again after so many seconds or once words are ``missing`` in it, until cancelled."""
    while True:
        if ready():
            missing.clear()
            await attempt(lambda: merge_words(database, pause=seconds / _STEPS), waits="words_merge_waits")
        with suppress(TimeoutError):
            await asyncio.wait_for(missing.wait(), seconds)
