"""What an operator may do with rows of the outbox: look at them, have them sent again, drop them. Crosses tenants."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import Json
from app.ports.database import NOW, Database, Row, Statement
from app.storage.system.indexer_queue import NEVER

_LIST = f"""
SELECT tenant_id, agent_id, id, index_name, operation, refusals, dead, {NOW} - revision AS age_ms,
  CASE WHEN dead IS NOT NULL THEN 'dead' WHEN confirmed_at IS NOT NULL THEN 'confirmed'
    WHEN acknowledged_at IS NOT NULL THEN 'unconfirmed' ELSE 'undelivered' END AS state
FROM outbox WHERE NOT ?1 ->> 'only_dead' OR dead IS NOT NULL
ORDER BY dead IS NULL, revision LIMIT ?1 ->> 'most'
"""
_CHOSEN = "dead IS NOT NULL AND (?1 ->> 'all' OR id IN (SELECT value FROM json_each(?1, '$.ids')))"
_RETRY = f"UPDATE outbox SET dead = NULL, refusals = 0, due_at = {NOW} WHERE {_CHOSEN} RETURNING id"
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT tenant_id, agent_id, id, 'outbox_dropped', json_object('reason', dead), {NOW} FROM outbox WHERE {_CHOSEN}
"""
_DROP = f"DELETE FROM outbox WHERE {_CHOSEN} AND due_at = {NEVER} RETURNING id"


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Rows that the index refused for good, and the other rows to look at."""

    database: Database

    async def list(self, *, only_dead: bool, most: int) -> Sequence[Row]:
        """Read rows, dead letters first, then the oldest first: never a vector, never content."""
        (rows,) = await self.database.run([Statement(_LIST, {"only_dead": only_dead, "most": most})])
        return rows

    async def retry(self, ids: Sequence[str]) -> Sequence[str]:
        """Queue dead letters anew, all of them where no id is given; return the ids of those that were."""
        return await self._change([_RETRY], ids)

    async def drop(self, ids: Sequence[str]) -> Sequence[str]:
        """Take dead letters out of the outbox and leave an audit row for each; return the ids of those that were.

        Their memories stay in the database, but the vector channel no longer finds them until ``reconcile`` does.
        """
        return await self._change([_AUDIT, _DROP], ids)

    async def _change(self, sqls: Sequence[str], ids: Sequence[str]) -> Sequence[str]:
        argument: dict[str, Json] = {"ids": list(ids), "all": not ids}
        *_, changed = await self.database.run([Statement(sql, argument, writes=True) for sql in sqls])
        return [str(row["id"]) for row in changed]
