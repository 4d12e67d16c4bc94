"""The ``ObjectStore`` port on a folder: an object is a file of its key's name."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.adapters.objects.failures import of_folder
from app.adapters.objects.store import PAGE, ObstoreObjects
from app.domain.errors import StorageReadOnly
from app.observability.metrics import Metrics
from app.ports.object_store import StoredObject

if TYPE_CHECKING:
    from obstore.store import LocalStore


class FolderObjects(ObstoreObjects):
    """Objects in a folder, which is made with the first call."""

    backend = "folder"

    def __init__(self, folder: Path, metrics: Metrics) -> None:
        """Make no folder yet."""
        super().__init__(metrics, of_folder)
        self._folder = folder

    def _open(self) -> "LocalStore":
        from obstore.store import LocalStore  # noqa: PLC0415 - loading it takes 30 ms

        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return LocalStore(self._folder)

    async def _put(self, key: str, data: bytes, media_type: str) -> None:  # noqa: ARG002 - files have no media type
        await self._library.put_async(self._store, key, data, use_multipart=False)
        await asyncio.to_thread(_sync, self._folder, key)

    async def _delete(self, key: str) -> None:
        """Remove the file, and unfinished files to which obstore has not yet given its name."""
        path = self._folder / key
        for unfinished in await asyncio.to_thread(lambda: list(path.parent.glob(f"{path.name}#*"))):
            unfinished.unlink(missing_ok=True)
        await self._library.delete_async(self._store, key)
        await asyncio.to_thread(sync_folder, path.parent)

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[Sequence[StoredObject]]:
        """List in the order of the keys, which a folder does not have: all keys are read first."""
        found = [
            stored async for page in super().list(prefix) for stored in page if stored.key.encode() > after.encode()
        ]
        found.sort(key=lambda each: each.key.encode())
        for start in range(0, len(found), PAGE):
            yield found[start : start + PAGE]

    async def ping(self) -> None:
        """Check that the folder can be written."""
        async with self._call("ping", 1.0):
            self._store  # noqa: B018 - makes the folder
            if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
                raise StorageReadOnly("The folder of blobs cannot be written.")


def _sync(folder: Path, key: str) -> None:
    """Flush the file and the folders that lead to it to the disk, because its row of the database is written next."""
    path = folder / key
    with path.open("rb") as file:
        os.fsync(file.fileno())
    for parent in path.parents[: len(path.relative_to(folder).parts)]:
        sync_folder(parent)


def sync_folder(folder: Path) -> None:
    """Return once the names of a folder's files are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
