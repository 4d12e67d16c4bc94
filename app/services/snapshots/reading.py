"""Reads snapshots: which there are, whether one is whole, and its lines. The object store alone is asked."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence

from app.domain import limits
from app.domain.errors import NotFound, ObjectGone, UpstreamRejected
from app.ports.object_store import ObjectMissing
from app.services.backends import TenantBackends
from app.services.snapshots.manifest import MANIFEST_BYTES, SnapshotManifest, read_manifest
from app.services.transfer.verify import Verdict, Verifier


class Snapshots:
    """The snapshots of the tenant that is bound in the backends. Should its database be lost, they are all there."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._objects = backends.objects.snapshots
        self._tenant_id = backends.tenant_id
        self._part = backends.part

    async def list(self) -> Sequence[SnapshotManifest]:
        """Return the manifests of all whole snapshots, newest first.

        Raises:
            ObjectGone: a manifest is damaged; the detail names it.
            Unavailable: the object store does not answer.
        """
        whole = [id_ for id_, has_manifest in (await self._objects.list()).items() if has_manifest]
        return [await self.manifest(id_) for id_ in sorted(whole, reverse=True)]

    async def manifest(self, snapshot_id: str) -> SnapshotManifest:
        """Return the manifest of a snapshot.

        Raises:
            InvalidRequest: the id has not the form of one.
            NotFound: the tenant has no such snapshot, or none that is whole.
            ObjectGone: the manifest is damaged.
            Unavailable: the object store does not answer.
        """
        limits.check(("snapshot_id", limits.MEMORY_ID, snapshot_id))
        key = self._objects.manifest_key(snapshot_id)
        try:
            manifest = read_manifest(await self._objects.get_manifest(snapshot_id, most=MANIFEST_BYTES))
        except ObjectMissing as error:
            raise NotFound(f"The tenant has no snapshot {snapshot_id}.") from error
        except (ValueError, UpstreamRejected) as error:
            raise ObjectGone(f"The manifest {key} is damaged: {error}.") from error
        if (manifest.tenant, manifest.id) != (self._tenant_id, snapshot_id):
            raise ObjectGone(f"The manifest {key} is that of another snapshot.")
        return manifest

    async def check(self, manifest: SnapshotManifest) -> None:
        """Return if every part is there and unchanged; raises as ``chunks`` does."""
        async for _ in self.chunks(manifest):
            pass

    async def chunks(self, manifest: SnapshotManifest) -> AsyncIterator[bytes]:
        """Yield the parts, each after a look at its size and its hash.

        Raises:
            ObjectGone: a part is missing or changed; the detail names it, and the parts before it were yielded.
            Unavailable: the object store does not answer.
        """
        for number, part in enumerate(manifest.parts):
            key = self._objects.part_key(manifest.id, number)
            try:
                data = await self._objects.get_part(manifest.id, number, most=part.bytes)
            except ObjectMissing as error:
                raise ObjectGone(f"The part {key} is missing.") from error
            except UpstreamRejected as error:
                raise ObjectGone(f"The part {key} has changed: {error.detail}") from error
            if await asyncio.to_thread(lambda data=data: hashlib.sha256(data).hexdigest()) != part.sha256:  # type: ignore[misc]
                raise ObjectGone(f"The part {key} has changed: it has another hash than its manifest says.")
            yield data

    async def verify(self, manifest: SnapshotManifest) -> Verdict:
        """Hold a snapshot against its own words: parts, lines, their hashes and their order.

        Raises:
            ObjectGone: a part is missing or changed.
            Unavailable: the object store does not answer.
        """
        verifier = Verifier()
        async for data in self.chunks(manifest):
            for line in data.splitlines(keepends=True):
                await self._part()
                verifier.take(line)
        verdict = verifier.end()
        if (verdict.memories, verdict.rows) != (manifest.memories, manifest.rows):
            verdict.add("the manifest counts other memories or rows than there are")
        return verdict
