"""The object store for one tenant's requests, which name blobs and snapshots by ids, and never name a key."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain import snapshots
from app.domain.blobs import key_of
from app.ports.object_store import ObjectStore, delete_all


@dataclass(frozen=True, slots=True)
class TenantObjects:
    """The objects of one tenant, by the ids of its blobs."""

    _tenant_id: str
    _objects: ObjectStore

    @property
    def there(self) -> bool:
        """Whether the service has an object store at all."""
        return self._objects.backend != "none"

    @property
    def snapshots(self) -> "SnapshotObjects":
        """The objects of the tenant's snapshots."""
        return SnapshotObjects(self._tenant_id, self._objects)

    async def put(self, blob_id: str, data: bytes, media_type: str) -> None:
        """Write the bytes of a blob; see ``ObjectStore.put``."""
        await self._objects.put(key_of(self._tenant_id, blob_id), data, media_type)

    async def get(self, blob_id: str, *, most: int) -> bytes:
        """Return the bytes of a blob; see ``ObjectStore.get``."""
        return await self._objects.get(key_of(self._tenant_id, blob_id), most=most)

    async def delete(self, blob_id: str) -> None:
        """Remove the bytes of a blob; see ``ObjectStore.delete``."""
        await self._objects.delete(key_of(self._tenant_id, blob_id))


@dataclass(frozen=True, slots=True)
class SnapshotObjects:
    """The objects of one tenant's snapshots, by the ids of the snapshots and the numbers of their parts."""

    _tenant_id: str
    _objects: ObjectStore

    def part_key(self, snapshot_id: str, number: int) -> str:
        """Return the key of a part, by which an operator knows the part."""
        return snapshots.part_key(self._tenant_id, snapshot_id, number)

    def manifest_key(self, snapshot_id: str) -> str:
        """Return the key of a manifest, by which an operator knows the manifest."""
        return snapshots.manifest_key(self._tenant_id, snapshot_id)

    async def put_part(self, snapshot_id: str, number: int, data: bytes) -> None:
        """Write a part; see ``ObjectStore.put``."""
        await self._objects.put(self.part_key(snapshot_id, number), data, "application/x-ndjson")

    async def get_part(self, snapshot_id: str, number: int, *, most: int) -> bytes:
        """Return a part; see ``ObjectStore.get``."""
        return await self._objects.get(self.part_key(snapshot_id, number), most=most)

    async def put_manifest(self, snapshot_id: str, data: bytes) -> None:
        """Write the manifest; see ``ObjectStore.put``."""
        await self._objects.put(self.manifest_key(snapshot_id), data, "application/json")

    async def get_manifest(self, snapshot_id: str, *, most: int) -> bytes:
        """Return the manifest; see ``ObjectStore.get``."""
        return await self._objects.get(self.manifest_key(snapshot_id), most=most)

    async def list(self) -> Mapping[str, bool]:
        """Return the ids of all snapshots that have an object, oldest first, each with whether it has a manifest."""
        found: dict[str, bool] = {}
        async for page in self._objects.list(snapshots.tenant_prefix(self._tenant_id)):
            for item in page:
                id_ = snapshots.snapshot_of(self._tenant_id, item.key)
                if id_ is not None:
                    found[id_] = found.get(id_, False) or item.key == self.manifest_key(id_)
        return found

    async def delete(self, snapshot_id: str) -> None:
        """Remove every object of a snapshot; see ``delete_all``."""
        prefix = snapshots.snapshot_prefix(self._tenant_id, snapshot_id)
        await delete_all(self._objects, prefix, first=self.manifest_key(snapshot_id))
