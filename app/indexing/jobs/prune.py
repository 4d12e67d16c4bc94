"""Deletes what has expired, of all tenants, a chunk at a time. Crosses tenants; no request imports it.

Nothing is kept between two chunks, so that what is stopped is simply begun again, and several may prune at once.
"""

from collections.abc import Callable

from app.domain.json_types import Json
from app.indexing.jobs.reconcile import RateLimiter
from app.ports.database import NOW, Database, Statement
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN

_CHUNK = 500

_NOW = Statement(f"SELECT {NOW} AS now")
# The same rows in each statement of a run: until when they had expired is given, and the last of them alone deletes.
_CHUNK_OF = f"""
SELECT expired.id FROM long_term_memory AS expired WHERE expired.expires_at <= ?1 ->> 'until'
ORDER BY expired.expires_at, expired.id LIMIT {_CHUNK}
"""
_QUEUE = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE memory.id IN ({_CHUNK_OF})
{QUEUED_AGAIN}
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'expired', '{{}}', {NOW}
FROM long_term_memory AS memory WHERE memory.id IN ({_CHUNK_OF})
"""
_DELETE = f"DELETE FROM long_term_memory AS memory WHERE memory.id IN ({_CHUNK_OF}) RETURNING id"


def chunk(until: int) -> list[Statement]:
    """Delete the next memories that had expired by then; the last statement returns a row for each.

    What is queued first is harmless alone: the indexer finishes a delete whose memory is still there, unless it has
    been stored again meanwhile, which puts an upsert in its place.
    """
    argument: dict[str, Json] = {"until": until}
    return [Statement(sql, argument, writes=True, repeatable=True) for sql in (_QUEUE, _AUDIT, _DELETE)]


class Prune:
    """One deletion of everything that has expired."""

    def __init__(self, database: Database, *, rate_limiter: RateLimiter, report: Callable[[int], None]) -> None:
        """Take the database, a rate, and whom to tell how many are deleted so far."""
        self._database = database
        self._rate_limiter = rate_limiter
        self._report = report

    async def run(self) -> int:
        """Delete what had expired when it began, and return how much that was.

        Their vectors become pending deletes, which the indexer of a running server carries out.

        Raises:
            Unavailable: the database does not answer; running it again goes on from there.
        """
        await self._rate_limiter.spend()
        ((now,),) = await self._database.run([_NOW])
        statements = chunk(int(now["now"] or 0))
        pruned = 0
        while True:
            await self._rate_limiter.spend()
            *_, deleted = await self._database.run(statements)
            if not deleted:
                return pruned
            pruned += len(deleted)
            self._report(pruned)
