"""Removes the objects of an erasure before the rows that name them. Crosses tenants; no request imports it."""

import asyncio
from collections.abc import Sequence

import structlog

from app.domain.blobs import key_of
from app.domain.errors import Unavailable
from app.ports.database import Database
from app.ports.object_store import ObjectStore
from app.storage.rows import read_rows
from app.storage.system import blobs
from app.storage.system.blobs import MAX_ERASED, ErasedBlob
from app.storage.system.erasing import RunningErasure

AT_ONCE = 16
"""Objects that are removed at the same time."""
_AWAY_SECONDS = 30.0
"""How long an object store that did not answer is left alone: each try may take as long as its deadline."""


class BlobEraser:
    """Erases the blobs of an erasure: each blob is found by its row, and the row goes last."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        """Take the ports."""
        self._database = database
        self._objects = objects
        self._away_until = 0.0

    async def advance(self, erasure: RunningErasure) -> bool | None:
        """Erase the next blobs; return whether more are to be erased now, and None where the erasure has to wait.

        The erasure waits while an object may still come that was on its way when it began, and while the object store
        does not answer. Every step can be made again: an erased blob is not counted a second time.

        Raises:
            Unavailable: the database does not answer; the next call continues.
        """
        _, rows = await self._database.run(blobs.of_erasure(erasure))
        found = read_rows(ErasedBlob, rows)
        ids = [blob.id for blob in found if not blob.on_its_way]
        if ids and not await self._removed(erasure, ids):
            await self._database.run([blobs.waits(erasure)])
            return None
        if ids:
            await self._database.run(blobs.erased(erasure, ids))
        if len(ids) < len(found):
            await self._database.run([blobs.waits(erasure)])
            return None
        return len(found) == MAX_ERASED

    async def _removed(self, erasure: RunningErasure, ids: Sequence[str]) -> bool:
        """Remove objects and return whether they are gone."""
        now = asyncio.get_running_loop().time()
        if now < self._away_until:
            return False
        try:
            await remove_objects(self._objects, erasure.tenant_id, ids)
        except Unavailable as error:
            self._away_until = now + _AWAY_SECONDS
            structlog.get_logger().warning("erasure_waits", erasure=erasure.id, code=error.code, reason=error.detail)
            return False
        return True


async def remove_objects(objects: ObjectStore, tenant_id: str, ids: Sequence[str]) -> None:
    """Remove a tenant's objects, several at once; raises as ``ObjectStore.delete`` does, and some may be gone."""
    for start in range(0, len(ids), AT_ONCE):
        await asyncio.gather(*(objects.delete(key_of(tenant_id, id_)) for id_ in ids[start : start + AT_ONCE]))
