"""What is kept of a tenant beside its memories: each kind has a bound or is pruned (docs/limits.md)."""

from dataclasses import replace

from app.domain.memory import Tenant
from app.domain.quotas import RowCounts
from app.ports.database import Row
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.tiers.tables import TIER_TABLES

MAX_COUNTED = 100_000
"""So many audit rows are counted at most: each one is read for it."""
MAX_ROWS = 100_001
"""So many rows of a kind are counted at most: one more than a tenant may have of any."""

_KINDS = tuple(tier.kind for tier in TIER_TABLES if tier.counted)
_OF_TIERS = "".join(
    f""",
  (
    SELECT count(*) FROM (
      SELECT 1 FROM {tier.table} WHERE {tier.table}.tenant_id = ?1 ->> 'tenant_id' LIMIT {MAX_ROWS}
    )
  ) AS {tier.kind}"""
    for tier in TIER_TABLES
    if tier.counted
)
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
  ) AS receipts,
  (
    SELECT coalesce(sum(snapshot.bytes), 0) FROM snapshot WHERE snapshot.tenant_id = ?1 ->> 'tenant_id'
  ) AS snapshot_bytes{_OF_TIERS}
"""


def read(tenant_id: str) -> ScopedStatement:
    """Count what is kept of a tenant: one row, for ``kept``."""
    return ScopedStatement.read(Tenant(tenant_id), _READ)


def kept(row: Row) -> RowCounts:
    """Read the row."""
    core = {name: count for name, count in row.items() if name not in _KINDS}
    return replace(read_row(RowCounts, core), rows={kind: int(row[kind] or 0) for kind in _KINDS})
