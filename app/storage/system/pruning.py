"""Statements that delete rows that have expired or are too old. They cross tenants; no request imports them."""

from app.domain.memory import Scope
from app.ports.database import NOW, Statement
from app.storage.idempotency import KEPT_MS
from app.storage.learned_of import delete_proposals, with_learned
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.scoped import ScopedStatement

# Each statement of a run selects the same rows: the time is given, and only the last statement deletes.
_CHUNK = with_learned(
    """
SELECT expired.id FROM long_term_memory AS expired WHERE expired.expires_at <= ?1 ->> 'until'
ORDER BY expired.expires_at, expired.id LIMIT ?1 ->> 'limit'
""",
    of_all_tenants=True,
)
_TASKS = with_learned(
    f"""
SELECT expired.id FROM long_term_memory AS expired INDEXED BY long_term_memory_typed
WHERE expired.tenant_id = ?1 ->> 'tenant_id' AND expired.agent_id = ?1 ->> 'agent_id'
  AND expired.type = 'task' AND expired.type <> 'event' AND expired.expires_at <= {NOW}
ORDER BY expired.created_at, expired.id LIMIT ?1 ->> 'limit'
""",
)
_QUEUE_DELETES = """
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {now}, {now} + {grace}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE memory.id IN ({chunk})
{again}
"""
_AUDIT = """
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'expired', '{{}}', {now}
FROM long_term_memory AS memory WHERE memory.id IN ({chunk})
"""
_DELETE = "DELETE FROM long_term_memory AS memory WHERE memory.id IN ({chunk}) RETURNING id"
_DELETE_KEYS = """
DELETE FROM idempotency WHERE (tenant_id, agent_id, key) IN (
  SELECT old.tenant_id, old.agent_id, old.key FROM idempotency AS old
  WHERE old.created_at <= ?1 ->> 'until' ORDER BY old.created_at LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
# The index is ordered by tenant: each tenant is looked up behind the tenant before it.
_BY_TENANT = """
DELETE FROM {table} WHERE ({key}) IN (
  WITH RECURSIVE tenant (id) AS (
    SELECT min(first.tenant_id) FROM {table} AS first
    UNION ALL
    SELECT (SELECT min(other.tenant_id) FROM {table} AS other WHERE other.tenant_id > tenant.id) FROM tenant
    WHERE tenant.id IS NOT NULL
  )
  SELECT {old} FROM tenant CROSS JOIN {table} AS old
  WHERE old.tenant_id = tenant.id AND old.{at} <= ?1 ->> 'until' LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_AUDIT = _BY_TENANT.format(table="audit", key="number", old="old.number", at="created_at")
_DELETE_TOOL_CALLS = _BY_TENANT.format(
    table="tool_call_log",
    key="tenant_id, run_id, number",
    old="old.tenant_id, old.run_id, old.number",
    at="recorded_at",
)
_DELETE_RECALLS = _BY_TENANT.format(
    table="recall_log", key="tenant_id, id", old="old.tenant_id, old.id", at="recorded_at"
)
# The rows of acts go in the order of their numbers, so that those that stay have no gap. They are dated in this order
# too, but for those of attempts, which are written up to a day behind.
_DELETE_ACTS = f"""
DELETE FROM administrative_act WHERE (tenant_id, id) IN (
  WITH RECURSIVE tenant (id) AS (
    SELECT min(first.tenant_id) FROM administrative_act AS first
    UNION ALL
    SELECT (SELECT min(other.tenant_id) FROM administrative_act AS other WHERE other.tenant_id > tenant.id)
    FROM tenant WHERE tenant.id IS NOT NULL
  ),
  staying (tenant_id, number) AS MATERIALIZED (
    SELECT tenant.id, coalesce(
      (
        SELECT min(kept.number) FROM administrative_act AS kept INDEXED BY administrative_act_newest
        WHERE kept.tenant_id = tenant.id AND kept.begun_at > ?1 ->> 'until'
          AND kept.begun_at <= ?1 ->> 'until' + {KEPT_MS}
      ),
      (
        SELECT min(kept.number) FROM administrative_act AS kept
        WHERE kept.tenant_id = tenant.id AND kept.begun_at > ?1 ->> 'until'
      ),
      (SELECT max(old.number) FROM administrative_act AS old WHERE old.tenant_id = tenant.id) + 1
    ) FROM tenant WHERE tenant.id IS NOT NULL
  )
  SELECT old.tenant_id, old.id FROM staying CROSS JOIN administrative_act AS old
  WHERE old.tenant_id = staying.tenant_id AND old.number < staying.number
  ORDER BY old.tenant_id, old.number LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_RECEIPTS = """
DELETE FROM erasure WHERE id IN (
  SELECT old.id FROM erasure AS old WHERE old.receipt IS NOT NULL AND old.accepted_at <= ?1 ->> 'until'
  LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""

_DELETE_INGESTIONS = """
DELETE FROM ingestion WHERE id IN (
  SELECT old.id FROM ingestion AS old WHERE old.finished_at <= ?1 ->> 'until' LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_CREDENTIALS = _BY_TENANT.format(
    table="credential", key="tenant_id, id", old="old.tenant_id, old.id", at="expires_at"
)
_DELETE_SPEND = """
DELETE FROM model_spend WHERE (tenant_id, day, stage) IN (
  SELECT old.tenant_id, old.day, old.stage FROM model_spend AS old
  WHERE old.day < ?1 ->> 'until' / 86400000 LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
# The row of an instance is deleted a day after it expired: its versions may be some milliseconds ahead of the clock.
_DELETE_INSTANCES = """
DELETE FROM working_instance WHERE (tenant_id, agent_id, instance) IN (
  SELECT old.tenant_id, old.agent_id, old.instance FROM working_instance AS old
  WHERE old.expires_at <= ?1 ->> 'until' - 86400000 AND NOT EXISTS (
    SELECT 1 FROM working_window AS held
    WHERE held.tenant_id = old.tenant_id AND held.agent_id = old.agent_id AND held.instance = old.instance
  )
  ORDER BY old.expires_at LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_LOGS = """
DELETE FROM working_log WHERE (tenant_id, agent_id, run_id, number) IN (
  SELECT old.tenant_id, old.agent_id, old.run_id, old.number FROM working_log AS old
  WHERE old.expires_at <= ?1 ->> 'until' ORDER BY old.expires_at LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_KEYS_OF_INSTANCES = """
DELETE FROM working_key WHERE (tenant_id, agent_id, instance, key) IN (
  SELECT old.tenant_id, old.agent_id, old.instance, old.key FROM working_key AS old
  WHERE old.expires_at <= ?1 ->> 'until' ORDER BY old.expires_at LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_OUTCOMES = """
DELETE FROM workflow_outcome WHERE (tenant_id, workflow_id, run_id) IN (
  SELECT old.tenant_id, old.workflow_id, old.run_id FROM workflow_outcome AS old
  WHERE old.created_at <= ?1 ->> 'until' ORDER BY old.created_at LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""


def delete_expired(until: int, limit: int) -> list[Statement]:
    """Delete the next memories that had expired by ``until``; the last statement returns a row for each.

    The deletes that are queued first do no harm alone: the indexer deletes a memory that is still there, unless it has
    been stored again meanwhile: a store replaces the queued delete by an upsert.
    """
    return [Statement.write(sql, until=until, limit=limit) for sql in _deletions(_CHUNK, of_all_tenants=True)]


def delete_expired_tasks(scope: Scope, limit: int) -> list[Statement]:
    """Delete an agent's next tasks that have expired, as ``delete_expired`` does."""
    return [ScopedStatement.write(scope, sql, limit=limit) for sql in _deletions(_TASKS, of_all_tenants=False)]


def _deletions(chunk: str, *, of_all_tenants: bool) -> list[str]:
    texts = {"chunk": chunk, "again": QUEUED_AGAIN, "now": NOW, "grace": GRACE_MS}
    return [
        delete_proposals(chunk, of_all_tenants=of_all_tenants),
        *(sql.format(**texts) for sql in (_QUEUE_DELETES, _AUDIT, _DELETE)),
    ]


def delete_keys(now: int, limit: int) -> list[Statement]:
    """Delete the next idempotency keys that are too old to keep a second store out; returns a row for each."""
    return [Statement.write(_DELETE_KEYS, until=now - KEPT_MS, limit=limit)]


def delete_audit(until: int, limit: int) -> list[Statement]:
    """Delete the next audit rows that had been written by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_AUDIT, until=until, limit=limit)]


def delete_tool_calls(until: int, limit: int) -> list[Statement]:
    """Delete the next tool calls of runs that had been recorded by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_TOOL_CALLS, until=until, limit=limit)]


def delete_recalls(until: int, limit: int) -> list[Statement]:
    """Delete the next rows of recalls that were made by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_RECALLS, until=until, limit=limit)]


def delete_acts(until: int, limit: int) -> list[Statement]:
    """Delete the next rows of administrative acts that had begun by ``until``, oldest first; returns a row for each."""
    return [Statement.write(_DELETE_ACTS, until=until, limit=limit)]


def delete_receipts(until: int, limit: int) -> list[Statement]:
    """Delete the next finished erasures that had been accepted by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_RECEIPTS, until=until, limit=limit)]


def delete_ingestions(until: int, limit: int) -> list[Statement]:
    """Delete the next ingestions that had finished by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_INGESTIONS, until=until, limit=limit)]


def delete_spend(until: int, limit: int) -> list[Statement]:
    """Delete the next counts of what models cost on days that were over by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_SPEND, until=until, limit=limit)]


def delete_credentials(until: int, limit: int) -> list[Statement]:
    """Delete the next credentials that had expired by ``until`` from the register; returns a row for each."""
    return [Statement.write(_DELETE_CREDENTIALS, until=until, limit=limit)]


def delete_working(until: int, limit: int) -> list[list[Statement]]:
    """Delete the next keys, entries of logs and instances of working memory that had expired by ``until``.

    Each list is a run of its own, which returns a row for each deleted row.
    """
    kinds = (_DELETE_KEYS_OF_INSTANCES, _DELETE_LOGS, _DELETE_INSTANCES)
    return [[Statement.write(sql, until=until, limit=limit)] for sql in kinds]


def delete_outcomes(until: int, limit: int) -> list[Statement]:
    """Delete the next outcomes of workflows that had been written by ``until``; returns a row for each.

    The workflows keep the counts. A run whose outcome is gone would be counted again.
    """
    return [Statement.write(_DELETE_OUTCOMES, until=until, limit=limit)]
