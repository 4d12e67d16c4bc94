"""Keeps the index of words quick to search. Crosses tenants; no request imports it."""

import asyncio

from app.ports.database import Database
from app.storage.system.words_index import MERGE_STEP, has_merged

_MAX_STEPS = 20
_PAUSE_SECONDS = 0.1
"""Between steps: requests go first."""


async def merge_words(database: Database) -> int:
    """Merge b-trees of the index of words until there are few, and return the number of steps, 20 at most.

    A search looks into each b-tree. After ten thousand stores there are up to fifteen, and after a merge two to four.

    Raises:
        Unavailable: the database does not answer.
    """
    for step in range(_MAX_STEPS):
        if not has_merged(await database.run(MERGE_STEP)):
            return step
        await asyncio.sleep(_PAUSE_SECONDS)
    return _MAX_STEPS
