"""The object store as one tenant's requests see it: no request can name a key of another tenant, or any key at all."""

from app.domain.blobs import key_of
from app.ports.object_store import ObjectStore


class TenantObjects:
    """The objects of one tenant, by the ids of its blobs."""

    def __init__(self, tenant_id: str, objects: ObjectStore) -> None:
        """Bind the tenant."""
        self._tenant_id = tenant_id
        self._objects = objects

    @property
    def there(self) -> bool:
        """Whether the service has an object store at all."""
        return self._objects.backend != "none"

    async def put(self, blob_id: str, data: bytes, media_type: str) -> None:
        """Write the bytes of a blob; see ``ObjectStore.put``."""
        await self._objects.put(key_of(self._tenant_id, blob_id), data, media_type)

    async def get(self, blob_id: str, *, most: int) -> bytes:
        """Return the bytes of a blob; see ``ObjectStore.get``."""
        return await self._objects.get(key_of(self._tenant_id, blob_id), most=most)

    async def delete(self, blob_id: str) -> None:
        """Remove the bytes of a blob; see ``ObjectStore.delete``."""
        await self._objects.delete(key_of(self._tenant_id, blob_id))
