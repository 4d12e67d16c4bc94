"""Writes a snapshot: the row first, then the parts, then the manifest.

Where the process is killed, the snapshot is either whole or does not count.
"""

import asyncio
import hashlib
from dataclasses import dataclass, field

import structlog
from ulid import ULID

from app.domain.errors import Erasing
from app.domain.moments import moment
from app.ports.database import Row
from app.services.snapshots.manifest import MAX_AGENTS, SnapshotManifest, SnapshotPart, write_manifest
from app.services.tenant.backends import TenantBackends
from app.services.transfer.export import Export
from app.services.transfer.retry_budget import RetryBudget
from app.storage.scoped import ScopedStatement
from app.storage.snapshots import SnapshotRows

PART_BYTES = 4 * 1024 * 1024
"""Bytes of the largest part: longer than any line, and short enough to be written in one call."""
PATIENCE_SECONDS = 3600.0
"""How long a snapshot may wait in all for calls to be let through."""


@dataclass(slots=True)
class _Written:
    """The parts that are written so far."""

    parts: list[SnapshotPart] = field(default_factory=list)
    bytes: int = 0


class SnapshotWriter:
    """Writes one snapshot of the tenant that is bound in the backends."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._backends = backends
        self._objects = backends.data.objects.snapshots
        self._rows = SnapshotRows(backends.tenant_id)
        self._retry_budget = RetryBudget(PATIENCE_SECONDS)

    async def write(self) -> SnapshotManifest:
        """Write a snapshot of all that the tenant has, without its vectors and the bytes of its blobs.

        Raises:
            Erasing: an erasure in the tenant is under way, or has begun meanwhile; the parts of the snapshot go.
            TenantMoved: the tenant lives in another shard, or is just moving there.
            Unavailable: the database or the object store does not answer; the parts are cleaned up later.
        """
        now = self._backends.clock()
        snapshot_id = str(ULID.from_datetime(moment(now)))
        await self._go_on(self._rows.begin(snapshot_id))
        export = Export(self._backends, retry_budget=self._retry_budget)
        written, buffer = _Written(), bytearray()
        async for chunk in export.chunks():
            buffer += chunk
            while len(buffer) > PART_BYTES:
                end = buffer.rfind(b"\n", 0, PART_BYTES) + 1  # no line is as long as a part
                await self._put(snapshot_id, written, bytes(buffer[:end]))
                del buffer[:end]
        await self._put(snapshot_id, written, bytes(buffer))
        agents = sorted(export.agents) if len(export.agents) <= MAX_AGENTS else None
        manifest = SnapshotManifest(
            tenant=self._backends.tenant_id,
            id=snapshot_id,
            created_at=now,
            memories=export.total.memories,
            rows=export.total.rows,
            hash=export.total.end.hash,
            agents=agents,
            parts=written.parts,
            lost=export.lost,
        )
        await self._go_on(self._rows.renew(snapshot_id, size=written.bytes))
        await self._objects.put_manifest(snapshot_id, write_manifest(manifest))
        await self._go_on(self._rows.finish(snapshot_id, agents))
        structlog.get_logger().info(
            "snapshot_written",
            tenant=manifest.tenant,
            snapshot=snapshot_id,
            memories=manifest.memories,
            rows=manifest.rows,
            parts=len(manifest.parts),
            bytes=manifest.bytes,
            lost=manifest.lost,
        )
        return manifest

    async def _put(self, snapshot_id: str, written: _Written, data: bytes) -> None:
        digest = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
        await self._go_on(self._rows.renew(snapshot_id, size=written.bytes + len(data)))
        await self._objects.put_part(snapshot_id, len(written.parts), data)
        written.parts.append(SnapshotPart(len(data), digest, data.count(b"\n")))
        written.bytes += len(data)

    async def _go_on(self, statement: ScopedStatement) -> None:
        """Run the row's next statement, after which the next object may be written.

        Raises:
            Erasing: the row is not there, or its objects are to go.
        """

        async def run() -> list[Row]:
            (rows,) = await self._backends.data.database.run([statement])
            return rows

        if not await self._retry_budget.of(run):
            raise Erasing("Something of the tenant is being erased. A snapshot can be made once it has its receipt.")
