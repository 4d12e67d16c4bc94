"""Deletes expired memories of all tenants, chunk by chunk. Crosses tenants; no request imports it.

Nothing is kept between two chunks: a prune that stops is simply run again, and several may run at once.
"""

from collections.abc import Callable

from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database
from app.storage.system.clock import database_time
from app.storage.system.pruning import delete_expired

MAX_CHUNK = 500
"""How many memories one run of the database deletes."""


class Prune:
    """One deletion of everything that has expired."""

    def __init__(self, database: Database, *, rate_limiter: RateLimiter, report: Callable[[int], None]) -> None:
        """Take the database, a rate limiter, and a callback that is given the number of memories deleted so far."""
        self._database = database
        self._rate_limiter = rate_limiter
        self._report = report

    async def run(self) -> int:
        """Delete the memories that had expired when the run began, and return their number.

        Their vectors become pending deletes, which the indexer of a running server carries out.

        Raises:
            Unavailable: the database does not answer; running it again continues from there.
        """
        await self._rate_limiter.spend()
        statements = delete_expired(await database_time(self._database), MAX_CHUNK)
        pruned = 0
        while True:
            await self._rate_limiter.spend()
            *_, deleted = await self._database.run(statements)
            if not deleted:
                return pruned
            pruned += len(deleted)
            self._report(pruned)
