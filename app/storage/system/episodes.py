"""Statements that delete episodes and runs that are too old. They cross tenants; no request imports them."""

from app.ports.database import Statement

# The indexes are ordered by tenant: each tenant is looked up behind the tenant before it.
_TENANTS = """
WITH RECURSIVE tenant (id) AS (
  SELECT min(first.tenant_id) FROM {table} AS first
  UNION ALL
  SELECT (SELECT min(other.tenant_id) FROM {table} AS other WHERE other.tenant_id > tenant.id) FROM tenant
  WHERE tenant.id IS NOT NULL
)
"""
_DELETE_EPISODES = f"""
DELETE FROM memory_episodes WHERE rowid IN (
  {_TENANTS.format(table="memory_episodes")}
  SELECT old.rowid FROM tenant CROSS JOIN memory_episodes AS old INDEXED BY memory_episodes_newest
  WHERE old.tenant_id = tenant.id AND old.created_at <= ?1 ->> 'until' LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
# A run of this age that was never ended is given up. No run is deleted before its episodes. A delegated run is deleted
# once its parent is, and not before.
_DELETE_RUNS = f"""
DELETE FROM agent_runs WHERE (tenant_id, id) IN (
  {_TENANTS.format(table="agent_runs")}
  SELECT old.tenant_id, old.id FROM tenant CROSS JOIN agent_runs AS old INDEXED BY agent_runs_newest
  WHERE old.tenant_id = tenant.id AND old.started_at <= ?1 ->> 'until'
    AND coalesce(old.ended_at, old.started_at) <= ?1 ->> 'until'
    AND NOT EXISTS (
      SELECT 1 FROM memory_episodes AS episode WHERE episode.tenant_id = old.tenant_id AND episode.run_id = old.id
    )
    AND (old.parent_run_id IS NULL OR NOT EXISTS (
      SELECT 1 FROM agent_runs AS parent WHERE parent.tenant_id = old.tenant_id AND parent.id = old.parent_run_id
    ))
  LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""
_DELETE_DELEGATED = f"""
DELETE FROM agent_runs WHERE (tenant_id, id) IN (
  {_TENANTS.format(table="agent_runs")}
  SELECT old.tenant_id, old.id FROM tenant CROSS JOIN agent_runs AS old INDEXED BY agent_runs_without_parent
  WHERE old.tenant_id = tenant.id AND old.parent_gone = 1 LIMIT ?1 ->> 'limit'
) RETURNING TRUE AS deleted
"""


def delete_episodes(until: int, limit: int) -> list[Statement]:
    """Delete the next episodes that had been written by ``until``; returns a row for each."""
    return [Statement.write(_DELETE_EPISODES, until=until, limit=limit)]


def delete_runs(until: int, limit: int) -> list[Statement]:
    """Delete the next runs that had ended by ``until``, or had begun and never ended; returns a row for each."""
    return [Statement.write(_DELETE_RUNS, until=until, limit=limit)]


def delete_delegated(limit: int) -> list[Statement]:
    """Delete the next runs whose parents were deleted, with their episodes; returns a row for each run."""
    return [Statement.write(_DELETE_DELEGATED, limit=limit)]
