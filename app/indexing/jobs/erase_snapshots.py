"""Removes whole snapshots that hold rows of an erasure's scope. Crosses tenants; no request imports it."""

import asyncio

import structlog

from app.domain.errors import Unavailable
from app.domain.snapshots import manifest_key, snapshot_prefix
from app.ports.database import Database
from app.ports.object_store import ObjectStore, delete_all
from app.storage.system import blobs, snapshots
from app.storage.system.erasing import RunningErasure

_AWAY_SECONDS = 30.0
"""How long an object store that did not answer is left alone: each try may take as long as its deadline."""


class SnapshotEraser:
    """Erases snapshots: the row goes last. Snapshots are counted, and not the rows that they hold."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        """Take the ports."""
        self._database = database
        self._objects = objects
        self._away_until = 0.0

    async def advance(self, erasure: RunningErasure) -> bool | None:
        """Erase the next snapshot; return whether there are more, and None where the erasure has to wait.

        The erasure waits while an object may still come that was on its way when it began, and while the object store
        does not answer. Every step can be made again: an erased snapshot is not counted a second time.

        Raises:
            Unavailable: the database does not answer; the next call continues.
        """
        *_, rows = await self._database.run(snapshots.of_erasure(erasure))
        found = snapshots.read_erased(rows)
        if not found:
            return False
        first = found[0]  # snapshots whose objects may still come are last
        if first.on_its_way or not await self._removed(erasure, first.id):
            await self._database.run([blobs.waits(erasure)])
            return None
        await self._database.run(snapshots.erased(erasure, first.id))
        return len(found) > 1

    async def _removed(self, erasure: RunningErasure, snapshot_id: str) -> bool:
        """Remove the objects of a snapshot and return whether they are gone."""
        now = asyncio.get_running_loop().time()
        if now < self._away_until:
            return False
        prefix, manifest = (make(erasure.tenant_id, snapshot_id) for make in (snapshot_prefix, manifest_key))
        try:
            await delete_all(self._objects, prefix, first=manifest)
        except Unavailable as error:
            self._away_until = now + _AWAY_SECONDS
            structlog.get_logger().warning("erasure_waits", erasure=erasure.id, code=error.code, reason=error.detail)
            return False
        return True
