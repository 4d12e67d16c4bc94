"""What is kept of a tenant beside its memories: each kind has a bound or is pruned (docs/limits.md)."""

from app.domain.memory import Tenant
from app.domain.quotas import Kept
from app.ports.database import Row
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

_READ = """
SELECT
  (
    SELECT coalesce(sum(counted.keys), 0) FROM idempotency_count AS counted
    WHERE counted.tenant_id = ?1 ->> 'tenant_id'
  ) AS idempotency_keys,
  (SELECT count(*) FROM audit WHERE audit.tenant_id = ?1 ->> 'tenant_id') AS audit_rows,
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
