"""Statements of the consolidation of all tenants: they read tenants and agents, and keep how far it is."""

from dataclasses import dataclass

from app.domain.memory import Tenant
from app.ports.database import NOW, Statement
from app.storage.consolidating import REPORTS
from app.storage.scoped import ScopedStatement
from app.storage.system.leases import NamedLease

LEASE = NamedLease("consolidation", 120_000)
"""One process at a time consolidates. The lease outlasts the pause between two calls where few a minute are allowed."""
TENANTS = 100
"""Tenants, or agents of one tenant, that one run reads at most."""

# The index is ordered by tenant: each tenant is looked up behind the tenant before it.
_TENANTS = f"""
SELECT id FROM (
WITH RECURSIVE tenant (id, number) AS (
  SELECT min(first.tenant_id), 1 FROM long_term_memory AS first WHERE first.tenant_id > ?1 ->> 'after'
  UNION ALL
  SELECT (SELECT min(next.tenant_id) FROM long_term_memory AS next WHERE next.tenant_id > tenant.id), number + 1
  FROM tenant WHERE tenant.id IS NOT NULL AND number < {TENANTS}
)
SELECT tenant.id FROM tenant WHERE tenant.id IS NOT NULL
)
"""
_AGENTS = f"""
SELECT id FROM (
WITH RECURSIVE agent (id, number) AS (
  SELECT min(first.agent_id), 1 FROM long_term_memory AS first
  WHERE first.tenant_id = ?1 ->> 'tenant_id' AND first.agent_id > ?1 ->> 'after'
  UNION ALL
  SELECT (
      SELECT min(next.agent_id) FROM long_term_memory AS next
      WHERE next.tenant_id = ?1 ->> 'tenant_id' AND next.agent_id > agent.id
    ), number + 1
  FROM agent WHERE agent.id IS NOT NULL AND number < {TENANTS}
)
SELECT agent.id FROM agent WHERE agent.id IS NOT NULL
)
"""
_BEGIN = f"""
INSERT INTO consolidation (tenant_id, id, started_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'id', {NOW}
WHERE EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.tenant_id = ?1 ->> 'tenant_id')
  AND NOT EXISTS (
    SELECT 1 FROM consolidation AS own WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.finished_at IS NULL
  )
  AND NOT EXISTS (
    SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = ?1 ->> 'tenant_id' AND placed.carried
  )
"""
_UNDER_WAY = """
SELECT own.id, own.after FROM consolidation AS own
WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.finished_at IS NULL ORDER BY own.id LIMIT 1
"""
_ADVANCE = """
UPDATE consolidation
SET after = ?1 ->> 'after', chains = chains + (?1 ->> 'chains'), tasks = tasks + (?1 ->> 'tasks')
WHERE tenant_id = ?1 ->> 'tenant_id' AND id = ?1 ->> 'id' AND after < ?1 ->> 'after'
"""
_COUNT = """
(
  SELECT count(*) FROM consolidated AS merged
  WHERE merged.tenant_id = ?1 ->> 'tenant_id' AND merged.consolidation_id = ?1 ->> 'id' AND merged.kind = '{kind}'
)
"""
_FINISH = f"""
UPDATE consolidation SET finished_at = {NOW}, after = '', memories = {_COUNT.format(kind="memory")},
  facts = {_COUNT.format(kind="fact")}
WHERE tenant_id = ?1 ->> 'tenant_id' AND id = ?1 ->> 'id'
"""
# A consolidation that has nothing left to undo is deleted, unless it is one of the tenant's newest.
_FORGET = f"""
DELETE FROM consolidation WHERE tenant_id = ?1 ->> 'tenant_id' AND finished_at IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM consolidated AS merged INDEXED BY consolidated_of
    WHERE merged.tenant_id = ?1 ->> 'tenant_id' AND merged.consolidation_id = consolidation.id AND merged.undone = 0
  )
  AND id < (
    SELECT newest.id FROM consolidation AS newest WHERE newest.tenant_id = ?1 ->> 'tenant_id'
    ORDER BY newest.id DESC LIMIT 1 OFFSET {REPORTS - 1}
  )
"""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A consolidation that is under way: the agents up to ``after`` are done."""

    id: str
    after: str


def read_tenants(after: str) -> Statement:
    """Read the next tenants that have memories, behind the tenant ``after``, as rows of ``id``."""
    return Statement.read(_TENANTS, after=after)


def read_agents(tenant: Tenant, after: str) -> ScopedStatement:
    """Read the next agents of a tenant that have memories, behind the agent ``after``, as rows of ``id``."""
    return ScopedStatement.read(tenant, _AGENTS, after=after)


def begin(tenant: Tenant, new_id: str) -> list[ScopedStatement]:
    """Begin a consolidation of a tenant, or go on with the one under way; the last statement returns ``UnderWay``."""
    return [ScopedStatement.write(tenant, _BEGIN, id=new_id), ScopedStatement.read(tenant, _UNDER_WAY)]


def advance(tenant: Tenant, consolidation_id: str, agent_id: str, *, chains: int, tasks: int) -> ScopedStatement:
    """Note that an agent is done, how many of its chains lead to their ends now, and how many tasks were closed.

    A statement that is repeated counts nothing.
    """
    return ScopedStatement.write(tenant, _ADVANCE, id=consolidation_id, after=agent_id, chains=chains, tasks=tasks)


def finish(tenant: Tenant, consolidation_id: str) -> list[ScopedStatement]:
    """Note that a consolidation is done, and delete old consolidations that have nothing left to undo."""
    return [ScopedStatement.write(tenant, sql, id=consolidation_id) for sql in (_FINISH, _FORGET)]
