"""Statements over the rows of one tenant's blobs; the bytes are in the object store."""

from dataclasses import dataclass

from app.domain import limits
from app.domain.blobs import Blob
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW
from app.storage.declared import PagedTable, behind, columns_of, insert
from app.storage.listing import ListPosition
from app.storage.scoped import ScopedStatement

_COLUMNS = columns_of(Blob, "blob")
_TENANT = "blob.tenant_id = ?1 ->> 'tenant_id'"
# The blobs of one agent or, in a statement of the whole tenant, those that all of its agents share.
_OF_OWNER = "blob.agent_id = coalesce(?1 ->> 'agent_id', '')"
_ONE = f"{_TENANT} AND {_OF_OWNER} AND blob.id = ?1 ->> 'id'"
_STORED = "blob.state = 'stored'"

_BEGIN = insert(
    "blob",
    "id sha256 size media_type",
    """FROM (
  SELECT count(*) AS blobs, coalesce(sum(every.size), 0) AS bytes FROM blob AS every
  WHERE every.tenant_id = ?1 ->> 'tenant_id'
) AS used
WHERE used.blobs < ?1 ->> 'most' AND used.bytes + (?1 ->> 'size') <= ?1 ->> 'most_bytes'
ON CONFLICT DO NOTHING""",
    agent_id="coalesce(?1 ->> 'agent_id', '')",
    state="'writing'",
    created_at=NOW,
)
_USED = f"""
SELECT count(*) AS blobs, coalesce(sum(blob.size), 0) AS bytes, coalesce(sum(blob.id = ?1 ->> 'id'), 0) AS begun
FROM blob WHERE {_TENANT}
"""
_FINISH = f"UPDATE blob SET state = 'stored' WHERE {_ONE} AND blob.state = 'writing'"
_READ = f"SELECT {_COLUMNS} FROM blob WHERE {_ONE} AND {_STORED}"
_CONDEMN = f"UPDATE blob SET state = 'deleting' WHERE {_ONE} AND blob.state <> 'writing' RETURNING id"
_ABANDON = f"UPDATE blob SET state = 'deleting' WHERE {_ONE} AND blob.state = 'writing' RETURNING id"
_REMOVE = f"DELETE FROM blob WHERE {_ONE} AND blob.state = 'deleting'"
_NEWEST = PagedTable(
    table="blob",
    columns=_COLUMNS,
    at="blob.created_at",
    tie="blob.id",
    indexes={(): "blob_newest"},
)


@dataclass(frozen=True, slots=True)
class BlobUsage:
    """The number and bytes of a tenant's blobs; ``begun``: the blob that is asked for is among them."""

    blobs: int
    bytes: int
    begun: bool


@dataclass(frozen=True, slots=True)
class BlobRows:
    """Statements over the blobs of one owner: an agent, or a tenant for the blobs that its agents share."""

    owner: Scope | Tenant

    def begin(self, blob: Blob) -> list[ScopedStatement]:
        """Write the row before its object is stored, if there is room; the last statement reads ``BlobUsage``."""
        begin = ScopedStatement.write(
            self.owner,
            _BEGIN,
            id=blob.id,
            sha256=blob.sha256,
            size=blob.size,
            media_type=blob.media_type,
            most=limits.MAX_BLOBS,
            most_bytes=limits.MAX_BLOBS_BYTES,
        )
        return [begin, ScopedStatement.read(self.owner, _USED, id=blob.id)]

    def finish(self, blob_id: str) -> list[ScopedStatement]:
        """Mark a blob as stored; the last statement reads the ``Blob``, or no row if it was deleted meanwhile."""
        return [ScopedStatement.write(self.owner, _FINISH, id=blob_id), self.one(blob_id)]

    def one(self, blob_id: str) -> ScopedStatement:
        """Read a stored ``Blob``; no row where the owner has none of that id."""
        return ScopedStatement.read(self.owner, _READ, id=blob_id)

    def page(self, *, limit: int, after: ListPosition | None) -> ScopedStatement:
        """Read the next stored ``Blob`` rows, newest first."""
        sql = _NEWEST.select([], _OF_OWNER, _STORED, after=after)
        return ScopedStatement.read(self.owner, sql, limit=limit, **behind(after))

    def condemn(self, blob_id: str) -> ScopedStatement:
        """Hide a stored blob before its object is deleted; returns its ``id``, or no row where there is none."""
        return ScopedStatement.write(self.owner, _CONDEMN, id=blob_id)

    def abandon(self, blob_id: str) -> ScopedStatement:
        """Hide a blob whose object was never stored, as ``condemn`` hides a stored one."""
        return ScopedStatement.write(self.owner, _ABANDON, id=blob_id)

    def remove(self, blob_id: str) -> ScopedStatement:
        """Delete the row of a hidden blob, once its object is deleted."""
        return ScopedStatement.write(self.owner, _REMOVE, id=blob_id)
