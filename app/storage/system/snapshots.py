"""Statements over the snapshots of all tenants: which are due, and which an erasure takes. No request imports them."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Row, Statement
from app.storage.lease_rule import void
from app.storage.rows import read_rows
from app.storage.snapshots import ON_ITS_WAY_MS
from app.storage.system.erasing import RunningErasure
from app.storage.system.leases import NamedLease

LEASE = NamedLease("snapshots", 60_000)
MAX_TENANTS = 100
"""Tenants that one statement reads at most."""

_DAY_MS, _AT_MS = 24 * 3600 * 1000, 2 * 3600 * 1000
_NIGHT = f"{NOW} - ({NOW} - {_AT_MS}) % {_DAY_MS}"
"""The last 02:00 UTC."""
_DUE = f"""
SELECT tenant_id FROM (SELECT tenant_id FROM usage UNION SELECT tenant_id FROM snapshot) AS known
WHERE known.tenant_id > ?1 ->> 'after' AND NOT EXISTS (
  SELECT 1 FROM snapshot
  WHERE snapshot.tenant_id = known.tenant_id AND snapshot.state = 'stored' AND snapshot.created_at >= {_NIGHT}
    AND NOT {void("snapshot.created_at", 0)}
) AND NOT EXISTS (
  SELECT 1 FROM erasure WHERE erasure.tenant_id = known.tenant_id AND erasure.receipt IS NULL
) AND NOT EXISTS (
  SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = known.tenant_id AND placed.carried
)
ORDER BY tenant_id LIMIT {MAX_TENANTS}
"""

# The rows of an agent cannot be cut out of a snapshot: the whole snapshot goes.
_HOLDS = """
snapshot.tenant_id = ?1 ->> 'tenant_id' AND (
  ?1 ->> 'first_agent' = '' OR snapshot.agents IS NULL
  OR EXISTS (SELECT 1 FROM json_each(snapshot.agents) AS held WHERE held.value = ?1 ->> 'first_agent')
)
"""
_OF_ERASURE = f"""
SELECT snapshot.id, snapshot.state <> 'stored' AND snapshot.renewed_at > {NOW} - {ON_ITS_WAY_MS} AS on_its_way
FROM snapshot WHERE {_HOLDS} ORDER BY on_its_way, snapshot.id
"""
_STOP = f"UPDATE snapshot SET state = 'deleting', agents = NULL WHERE {_HOLDS} AND snapshot.state = 'writing'"
# A snapshot may have been renewed while the database's clock was ahead: its object may still come, as if begun now.
_DATE_ANEW = f"UPDATE snapshot SET renewed_at = {NOW} WHERE {_HOLDS} AND {void('snapshot.renewed_at', 0)}"
_ERASURE = "erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'"
_ONE = "snapshot.tenant_id = ?1 ->> 'tenant_id' AND snapshot.id = ?1 ->> 'snapshot_id'"
_COUNT_ERASED = f"""
UPDATE erasure SET advanced_at = {NOW},
  tiers = json_set(
    tiers, '$.snapshots', coalesce(tiers ->> '$.snapshots', 0) + (SELECT count(*) FROM snapshot WHERE {_ONE})
  )
WHERE {_ERASURE}
"""
_DELETE_ERASED = f"DELETE FROM snapshot WHERE {_ONE}"


@dataclass(frozen=True, slots=True)
class ErasedSnapshot:
    """A snapshot that an erasure has to remove; ``on_its_way``: an object of it may still come."""

    id: str
    on_its_way: bool


def due(after: Row) -> Statement:
    """Read the tenants after a row, in the order of their ids, that have no snapshot since the last 02:00 UTC."""
    return Statement.read(_DUE, after=after.get("tenant_id", ""))


def of_erasure(erasure: RunningErasure) -> list[Statement]:
    """Stop the writes of snapshots that an erasure takes, and read each ``ErasedSnapshot`` with the last statement."""
    argument = erasure.argument
    changes = [Statement.write(sql, repeatable=True, **argument) for sql in (_DATE_ANEW, _STOP)]
    return [*changes, Statement.read(_OF_ERASURE, **argument)]


def read_erased(rows: Sequence[Row]) -> list[ErasedSnapshot]:
    """Read the rows of ``of_erasure``."""
    return read_rows(ErasedSnapshot, rows)


def erased(erasure: RunningErasure, snapshot_id: str) -> list[Statement]:
    """Count a snapshot whose objects are gone, and remove its row."""
    argument = {**erasure.argument, "snapshot_id": snapshot_id}
    return [Statement.write(sql, repeatable=True, **argument) for sql in (_COUNT_ERASED, _DELETE_ERASED)]
