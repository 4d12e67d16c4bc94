"""Statements that find the agents, of all tenants, that have old rows. No request imports them."""

from app.ports.database import NOW, Row, Statement
from app.storage.system.leases import NamedLease

LEASE = NamedLease("archive", 60_000)
MAX_AGENTS = 100
"""Agents that one statement reads at most."""

_DAY_MS = 24 * 3600 * 1000
_WHOSE = "old.tenant_id = usage.tenant_id AND old.agent_id = usage.agent_id"
_UNTIL = f"{NOW} - ?1 ->> 'days' * {_DAY_MS}"
_DUE = f"""
SELECT usage.tenant_id, usage.agent_id, {NOW} AS now, {_UNTIL} AS until FROM usage
WHERE usage.agent_id <> '' AND (usage.tenant_id, usage.agent_id) > (?1 ->> 'after_tenant', ?1 ->> 'after_agent') AND (
  EXISTS (SELECT 1 FROM long_term_memory AS old WHERE {_WHOSE} AND old.created_at <= {_UNTIL})
  OR EXISTS (SELECT 1 FROM memory_episodes AS old WHERE {_WHOSE} AND old.created_at <= {_UNTIL})
  OR EXISTS (SELECT 1 FROM agent_runs AS old WHERE {_WHOSE} AND old.ended_at <= {_UNTIL})
) AND NOT EXISTS (
  SELECT 1 FROM erasure WHERE erasure.tenant_id = usage.tenant_id AND erasure.receipt IS NULL
) AND NOT EXISTS (
  SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = usage.tenant_id AND placed.carried
)
ORDER BY usage.tenant_id, usage.agent_id LIMIT {MAX_AGENTS}
"""


def due(days: int, after: Row) -> Statement:
    """Read the agents after a row, in the order of tenants and agents, that have rows at least this many days old.

    Each row has the database's ``now``, and ``until``: the moment up to which an old row was written.
    """
    tenant_id, agent_id = after.get("tenant_id", ""), after.get("agent_id", "")
    return Statement.read(_DUE, days=days, after_tenant=tenant_id, after_agent=agent_id)
