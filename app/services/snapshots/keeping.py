"""Keeps the snapshots of one tenant: makes the next, and deletes snapshots that are old or were never finished."""

import structlog
from ulid import ULID

from app.domain.errors import NotFound, ObjectGone
from app.services.snapshots.manifest import SnapshotManifest
from app.services.snapshots.reading import Snapshots
from app.services.snapshots.writing import SnapshotWriter
from app.services.tenant.backends import TenantBackends
from app.storage.rows import read_rows
from app.storage.snapshots import ON_ITS_WAY_MS, SnapshotRow, SnapshotRows


class SnapshotKeeper:
    """Makes and deletes the snapshots of the tenant that is bound in the backends. Every step can be repeated."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._backends = backends
        self._objects = backends.data.objects.snapshots
        self._rows = SnapshotRows(backends.tenant_id)

    async def keep(self, count: int) -> SnapshotManifest:
        """Make a snapshot and keep the ``count`` newest; return the new one. Raises as ``SnapshotWriter.write`` does.

        The new snapshot is there before an old snapshot is deleted.
        """
        await self.clean_up()
        manifest = await SnapshotWriter(self._backends).write()
        there = await self._objects.list()
        left = count
        for row in [row for row in await self._read() if row.state == "stored"]:
            if left <= 0:
                await self.delete(row.id)
            elif there.get(row.id):
                left -= 1
            else:  # it does not count; it may be repaired until it is too old
                key = self._objects.manifest_key(row.id)
                structlog.get_logger().warning("snapshot_damaged", snapshot=row.id, reason=f"{key} is missing")
        return manifest

    async def clean_up(self) -> None:
        """Delete unfinished snapshots that no process goes on with, and add rows for those of the object store alone.

        Raises:
            Unavailable: the database or the object store does not answer.
        """
        there = await self._objects.list()
        rows = {row.id: row for row in await self._read()}
        for row in rows.values():
            if row.state != "stored" and not row.on_its_way:
                await self.delete(row.id)
        settled = self._backends.clock() - ON_ITS_WAY_MS
        for id_, has_manifest in there.items():
            if id_ in rows:
                continue
            if has_manifest:
                await self._adopt(id_)
            elif ULID.from_str(id_).milliseconds <= settled:
                await self._objects.delete(id_)

    async def delete(self, snapshot_id: str) -> None:
        """Delete a snapshot: the manifest, the parts, and then the row; a snapshot that does not exist is no error.

        Raises:
            Unavailable: the database or the object store does not answer; deleting it again is safe.
        """
        await self._backends.data.database.run([self._rows.condemn(snapshot_id)])
        await self._objects.delete(snapshot_id)
        await self._backends.data.database.run([self._rows.remove(snapshot_id)])

    async def _adopt(self, snapshot_id: str) -> None:
        try:
            manifest = await Snapshots(self._backends).manifest(snapshot_id)
        except (NotFound, ObjectGone) as error:  # a restore reports it; it is not deleted, since it may be repaired
            structlog.get_logger().warning("snapshot_damaged", snapshot=snapshot_id, reason=error.detail)
            return
        adopt = self._rows.adopt(
            snapshot_id, size=manifest.bytes, agents=manifest.agents, created_at=manifest.created_at
        )
        await self._backends.data.database.run([adopt])

    async def _read(self) -> list[SnapshotRow]:
        (rows,) = await self._backends.data.database.run([self._rows.list()])
        return read_rows(SnapshotRow, rows)
