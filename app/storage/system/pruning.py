"""Statements that delete expired memories. They cross tenants; no request imports them."""

from app.ports.database import NOW, Statement
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN

# Each statement of a run selects the same rows: the time is given, and only the last statement deletes.
_CHUNK = """
SELECT expired.id FROM long_term_memory AS expired WHERE expired.expires_at <= ?1 ->> 'until'
ORDER BY expired.expires_at, expired.id LIMIT ?1 ->> 'limit'
"""
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE memory.id IN ({_CHUNK})
{QUEUED_AGAIN}
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'expired', '{{}}', {NOW}
FROM long_term_memory AS memory WHERE memory.id IN ({_CHUNK})
"""
_DELETE = f"DELETE FROM long_term_memory AS memory WHERE memory.id IN ({_CHUNK}) RETURNING id"


def delete_expired(until: int, limit: int) -> list[Statement]:
    """Delete the next memories that had expired by then; the last statement returns a row for each.

    The deletes that are queued first do no harm alone: the indexer deletes a memory that is still there, unless it has
    been stored again meanwhile, which replaces the delete by an upsert.
    """
    return [Statement.write(sql, until=until, limit=limit) for sql in (_QUEUE_DELETES, _AUDIT, _DELETE)]
