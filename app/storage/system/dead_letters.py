"""Statements that show rows of the outbox, and retry or drop dead letters. They cross tenants; no request imports them.

A dead letter is a row that the index has refused for good.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Statement
from app.storage.system.indexer_queue import NEVER

_LIST = f"""
SELECT tenant_id, agent_id, id, index_name, operation, refusals, dead, {NOW} - revision AS age_ms,
  CASE WHEN dead IS NOT NULL THEN 'dead' WHEN confirmed_at IS NOT NULL THEN 'confirmed'
    WHEN acknowledged_at IS NOT NULL THEN 'unconfirmed' ELSE 'undelivered' END AS state
FROM outbox WHERE NOT ?1 ->> 'only_dead' OR dead IS NOT NULL
ORDER BY dead IS NULL, revision LIMIT ?1 ->> 'limit'
"""
_CHOSEN = "dead IS NOT NULL AND (?1 ->> 'all' OR id IN (SELECT value FROM json_each(?1, '$.ids')))"
_RETRY = f"UPDATE outbox SET dead = NULL, refusals = 0, due_at = {NOW} WHERE {_CHOSEN} RETURNING id"
_AUDIT_DROP = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT tenant_id, agent_id, id, 'outbox_dropped', json_object('reason', dead), {NOW} FROM outbox WHERE {_CHOSEN}
"""
_DROP = f"DELETE FROM outbox WHERE {_CHOSEN} AND due_at = {NEVER} RETURNING id"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row of the outbox as operators see it: without its vector, and without content."""

    tenant_id: str
    agent_id: str
    id: str
    index_name: str
    operation: str
    refusals: int
    dead: str | None
    """Why the index refused the row for good; None where it did not."""
    age_ms: int
    state: str


def list_rows(*, only_dead: bool, limit: int) -> Statement:
    """Read rows of ``OutboxRow``: dead letters first, then the oldest first."""
    return Statement.read(_LIST, only_dead=only_dead, limit=limit)


def retry(ids: Sequence[str]) -> list[Statement]:
    """Queue dead letters again, all of them where no id is given; returns their ids."""
    return [Statement.write(_RETRY, repeatable=False, ids=list(ids), all=not ids)]


def drop(ids: Sequence[str]) -> list[Statement]:
    """Audit and delete dead letters, all of them where no id is given; the last statement returns their ids."""
    return [Statement.write(sql, repeatable=False, ids=list(ids), all=not ids) for sql in (_AUDIT_DROP, _DROP)]
