"""What is kept of a tenant beside its memories: each kind has a bound or is pruned (docs/limits.md)."""

from app.domain.memory import Tenant
from app.domain.quotas import Kept
from app.ports.database import Row
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

MAX_COUNTED = 100_000
"""So many audit rows are counted at most: each one is read for it."""

_READ = f"""
SELECT
  (
    SELECT coalesce(sum(counted.keys), 0) FROM idempotency_count AS counted
    WHERE counted.tenant_id = ?1 ->> 'tenant_id'
  ) AS idempotency_keys,
  (
    SELECT count(*) FROM (SELECT 1 FROM audit WHERE audit.tenant_id = ?1 ->> 'tenant_id' LIMIT {MAX_COUNTED})
  ) AS audit_rows,
  (SELECT count(*) FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id') AS agent_settings,
  (
    SELECT count(*) FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.receipt IS NOT NULL
  ) AS receipts
"""


def read(tenant_id: str) -> ScopedStatement:
    """Count what is kept of a tenant: one row, for ``kept``."""
    return ScopedStatement.read(Tenant(tenant_id), _READ)


def kept(row: Row) -> Kept:
    """Read the row."""
    return read_row(Kept, row)
