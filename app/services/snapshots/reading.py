"""Lists snapshots, checks whether one is whole, and reads its lines, from the object store alone."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from app.domain import limits
from app.domain.errors import NotFound, ObjectGone, UpstreamRejected
from app.ports.object_store import ObjectMissing
from app.services.snapshots.manifest import MANIFEST_BYTES, SnapshotManifest, read_manifest
from app.services.tenant.backends import TenantBackends
from app.services.tenant.screening import Screening
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.services.transfer.verify import ExportVerdict, Verifier
from app.storage.snapshots import SnapshotRows


class Snapshots:
    """The snapshots of the tenant that is bound in the backends. They remain where the tenant's database is lost."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._objects = backends.data.objects.snapshots
        self._tenant_id = backends.tenant_id
        self._part = backends.admission.part

    async def list(self) -> Sequence[SnapshotManifest | ObjectGone]:
        """Return the manifests of all snapshots that have one, newest first; for a damaged manifest, the reason.

        Raises:
            Unavailable: the object store does not answer.
        """
        there = sorted(
            [id_ for id_, has_manifest in (await self._objects.list()).items() if has_manifest], reverse=True
        )
        return [await self._manifest_or_why(id_) for id_ in there]

    async def _manifest_or_why(self, snapshot_id: str) -> SnapshotManifest | ObjectGone:
        try:
            return await self.manifest(snapshot_id)
        except ObjectGone as error:
            return error

    async def manifest(self, snapshot_id: str) -> SnapshotManifest:
        """Return the manifest of a snapshot.

        Raises:
            InvalidRequest: the id does not have the form of an id.
            NotFound: the tenant has no such snapshot.
            ObjectGone: the manifest is damaged, or is missing where there are parts.
            Unavailable: the object store does not answer.
        """
        limits.check(("snapshot_id", limits.MEMORY_ID, snapshot_id))
        key = self._objects.manifest_key(snapshot_id)
        try:
            manifest = read_manifest(await self._objects.get_manifest(snapshot_id, most=MANIFEST_BYTES))
        except ObjectMissing as error:
            if snapshot_id in await self._objects.list():
                raise ObjectGone(f"The manifest {key} is missing: it is not written yet, or was lost.") from error
            raise NotFound(f"The tenant has no snapshot {snapshot_id}.") from error
        except (ValueError, UpstreamRejected) as error:
            raise ObjectGone(f"The manifest {key} is damaged: {error}.") from error
        if (manifest.tenant, manifest.id) != (self._tenant_id, snapshot_id):
            raise ObjectGone(f"The manifest {key} is that of another snapshot.")
        return manifest

    async def check(self, manifest: SnapshotManifest) -> None:
        """Return where every part is there and unchanged; raises as ``chunks`` does."""
        async for _ in self.chunks(manifest):
            pass

    async def chunks(self, manifest: SnapshotManifest) -> AsyncIterator[bytes]:
        """Yield the parts, each after a check of its size and its hash.

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

    async def restore(
        self,
        manifest: SnapshotManifest,
        to: TenantBackends,
        report: ImportReport,
        *,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Import a snapshot, all of whose parts are checked before the first line is stored.

        Raises as ``chunks`` and ``import_lines`` do, and:

        Raises:
            Erasing: an erasure was accepted meanwhile, finished or not; nothing of the snapshot was stored after it.
        """
        rows = SnapshotRows(to.tenant_id)
        ((row,),) = await to.data.database.run([rows.now()])
        await self.check(manifest)
        to = to.with_database(to.data.database.beginning_with(rows.restoring(int(row["now"] or 0))))
        to = replace(to, screening=Screening())  # what was kept is restored as it was
        importing = Import(to, report, retry_budget=retry_budget)
        await import_lines(self.chunks(manifest), importing, report, of_tenant=manifest.tenant)

    async def verify(self, manifest: SnapshotManifest) -> ExportVerdict:
        """Check a snapshot against its manifest and its own hashes: the parts, the lines and their order.

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
