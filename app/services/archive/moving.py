"""Moves old items of one agent into the object store.

Where the process is killed, each item is either in the database or in the archive, never in both.
"""

from collections.abc import Sequence

import structlog

from app.domain.errors import Erasing
from app.domain.json_types import Scalar
from app.domain.memory import Scope
from app.ports.database import Row
from app.services.blobs.blobs import Blobs
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import write
from app.services.transfer.large_rows import LargeRows
from app.services.transfer.lines import Line, Manifest, memory_line, row_line, whole_file
from app.services.transfer.record import Record
from app.storage.archive import KINDS, MOMENTS, TIERS, AgentArchive, ArchivedObject, Kind
from app.storage.rows import read_row

MEDIA_TYPE = "application/x-ndjson"


class ArchiveMover:
    """Moves the items of one agent, oldest first, an object at a time.

    The object is written, and read back, before the run that deletes its items, which it does if none has changed.
    """

    def __init__(self, backends: TenantBackends, agent_id: str) -> None:
        """Take what the tenant's services work with, and the agent."""
        self._backends = backends
        self._scope = Scope(backends.tenant_id, agent_id)
        self._rows = AgentArchive(self._scope)
        self._blobs = Blobs(backends)
        self._large = LargeRows(backends)

    async def move(self, until: int, *, now: int) -> int:
        """Move all items that are no younger than ``until``; return their number.

        Raises:
            Erasing: the agent or the tenant is being erased; items that were not moved are there as they were.
            QuotaExceeded: the tenant may have no more blobs.
            Unavailable: the database or the object store does not answer; moving again goes on.
        """
        await self._backends.data.database.run([self._rows.forget()])
        return sum([await self._move_all(kind, until, now) for kind in KINDS])

    async def _move_all(self, kind: Kind, until: int, now: int) -> int:
        """Move the old items of a kind; return their number. Where one has just changed, those behind it stay."""
        moved, after = 0, None
        while rows := await self._old(kind, until, now, after):
            lines, stay = await self._lines(kind, rows)
            if stay:
                after = rows[-1]
            movable = [row for row in rows if row["id"] not in stay]
            if movable and not await self._move(kind, movable, lines, now):
                break
            moved += len(movable)
        return moved

    async def _old(self, kind: Kind, until: int, now: int, after: Row | None) -> Sequence[Row]:
        (rows,) = await self._backends.data.database.run([self._rows.old(kind, until, now=now, after=after)])
        return rows

    async def _move(self, kind: Kind, rows: Sequence[Row], lines: Sequence[Line], now: int) -> bool:
        """Move these items, whose lines these are, into an object; return whether they went: none has just changed."""
        memories = len(rows) if kind == "memories" else 0
        manifest = Manifest(self._scope.tenant_id, self._scope.agent_id, memories, (), vectors=False)
        data = whole_file(manifest, lines)
        agent_id = self._scope.agent_id
        blob = await self._blobs.begin(agent_id, data, MEDIA_TYPE, kind="upkeep")
        await self._blobs.read(blob)
        ids, times = sorted(str(row["id"]) for row in rows), sorted(int(row[MOMENTS[kind]] or 0) for row in rows)
        archived = ArchivedObject(
            *(blob.id, agent_id, kind, len(rows), blob.size, blob.sha256),
            *(times[0], times[-1], ids[0], ids[-1], now),
        )
        try:
            *_, went = await write(self._backends, self._scope, self._rows.move(archived, rows), kind="upkeep")
        except Erasing:
            await self._blobs.give_up(agent_id, blob.id)
            raise
        if not went:
            await self._blobs.give_up(agent_id, blob.id)
            return False
        structlog.get_logger().info(
            "archived", tenant=self._scope.tenant_id, agent=agent_id, kind=kind, items=len(rows), object=blob.id
        )
        return True

    async def _lines(self, kind: Kind, rows: Sequence[Row]) -> tuple[list[Line], set[Scalar]]:
        """Return the lines of items, and the ids of those that stay: their objects would lack a large value."""
        table, lines, stay = TIERS.get(kind), list[Line](), set[Scalar]()
        for row in rows if table is None else sorted(rows, key=lambda row: str(row["id"])):
            await self._backends.admission.part()
            if table is None:
                lines.append(memory_line(read_row(Record, row)))
                continue
            whole = await self._large.whole(table, row)
            if whole.lost:
                stay.add(row["id"])
                structlog.get_logger().warning(
                    "archive_leaves",
                    tenant=self._scope.tenant_id,
                    agent=self._scope.agent_id,
                    kind=kind,
                    item=row["id"],
                    blobs=whole.lost,
                )
            else:
                lines.append(row_line(table, whole.row))
        return lines, stay
