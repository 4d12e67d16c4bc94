"""Statements over the rows of one tenant's snapshots; the objects are in the object store."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.json_types import to_json
from app.domain.memory import Tenant
from app.ports.database import NOW
from app.storage.lease_rule import void
from app.storage.scoped import ScopedStatement

ON_ITS_WAY_MS = 300_000
"""How long an object may still come after its row was renewed: longer than a ``put`` can take (``PUT_SECONDS``)."""

_TENANT = "snapshot.tenant_id = ?1 ->> 'tenant_id'"
_ONE = f"{_TENANT} AND snapshot.id = ?1 ->> 'id'"
_NOT_ERASING = """
NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.receipt IS NULL)
"""
_BEGIN = f"""
INSERT INTO snapshot (tenant_id, id, state, bytes, created_at, renewed_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'id', 'writing', 0, {NOW}, {NOW} WHERE {_NOT_ERASING}
ON CONFLICT DO NOTHING RETURNING tenant_id, id
"""
_RENEW = f"""
UPDATE snapshot SET renewed_at = {NOW}, bytes = ?1 ->> 'bytes' WHERE {_ONE} AND state = 'writing' RETURNING id
"""
_FINISH = f"""
UPDATE snapshot SET state = 'stored', agents = ?1 ->> 'agents' WHERE {_ONE} AND state = 'writing' RETURNING id
"""
# The database was lost, or was set back: a snapshot that is whole in the object store gets its row again.
_ADOPT = f"""
INSERT INTO snapshot (tenant_id, id, state, bytes, agents, created_at, renewed_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'id', 'stored', ?1 ->> 'bytes', ?1 ->> 'agents', ?1 ->> 'created_at', {NOW}
WHERE {_NOT_ERASING} ON CONFLICT DO NOTHING
"""
# A snapshot made while the clock was ahead, before it went back, is no newer than a snapshot made now.
_LIST = f"""
SELECT snapshot.id, snapshot.state, snapshot.bytes, snapshot.created_at,
  snapshot.state <> 'stored' AND snapshot.renewed_at > {NOW} - {ON_ITS_WAY_MS} AS on_its_way
FROM snapshot WHERE {_TENANT}
ORDER BY {void("snapshot.created_at", 0)}, snapshot.created_at DESC, snapshot.id DESC
"""
_NOW = f"SELECT {NOW} AS now WHERE ?1 ->> 'tenant_id' IS NOT NULL"
_RESTORE = "INSERT INTO snapshot_restore (tenant_id, since) SELECT ?1 ->> 'tenant_id', ?1 ->> 'since'"
_CONDEMN = f"UPDATE snapshot SET state = 'deleting' WHERE {_ONE}"
_REMOVE = f"DELETE FROM snapshot WHERE {_ONE} AND state = 'deleting'"


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A row of a snapshot; ``on_its_way``: the snapshot is not whole, and an object of it may still come."""

    id: str
    state: str
    bytes: int
    created_at: int
    on_its_way: bool


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """Statements over the snapshots of one tenant."""

    tenant_id: str

    def begin(self, snapshot_id: str) -> ScopedStatement:
        """Write the row before any object; returns a row unless something of the tenant is being erased."""
        return self._write(_BEGIN, id=snapshot_id)

    def renew(self, snapshot_id: str, *, size: int) -> ScopedStatement:
        """Note that another object comes, ``size`` bytes in all; returns no row for a snapshot that was given up."""
        return self._write(_RENEW, id=snapshot_id, bytes=size)

    def finish(self, snapshot_id: str, agents: Sequence[str] | None) -> ScopedStatement:
        """Note that a snapshot is whole, with rows of these agents; returns no row for one that was given up."""
        return self._write(_FINISH, id=snapshot_id, agents=_list(agents))

    def adopt(self, snapshot_id: str, *, size: int, agents: Sequence[str] | None, created_at: int) -> ScopedStatement:
        """Write the row of a snapshot that only the object store knows of, unless something is being erased."""
        values = {"bytes": size, "agents": _list(agents), "created_at": created_at}
        return self._write(_ADOPT, id=snapshot_id, **values)

    def list(self) -> ScopedStatement:
        """Read every ``SnapshotRow``, the newest first."""
        return ScopedStatement.read(Tenant(self.tenant_id), _LIST)

    def now(self) -> ScopedStatement:
        """Read the database's ``now``."""
        return ScopedStatement.read(Tenant(self.tenant_id), _NOW)

    def restoring(self, since: int) -> ScopedStatement:
        """Refuse the run with the reason ``erasing`` where an erasure of the tenant, or in it, was accepted since."""
        return self._write(_RESTORE, since=since)

    def condemn(self, snapshot_id: str) -> ScopedStatement:
        """Mark a snapshot whose objects are deleted: no process carries on with it."""
        return self._write(_CONDEMN, id=snapshot_id)

    def remove(self, snapshot_id: str) -> ScopedStatement:
        """Delete the row, once the objects are gone."""
        return self._write(_REMOVE, id=snapshot_id)

    def _write(self, sql: str, **values: str | int | None) -> ScopedStatement:
        return ScopedStatement.write(Tenant(self.tenant_id), sql, repeatable=True, **values)


def _list(agents: Sequence[str] | None) -> str | None:
    return None if agents is None else to_json(list(agents))
