"""Lists archived objects, reads one item, and brings an object back."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from app.domain import limits
from app.domain.blobs import Blob, key_of
from app.domain.errors import BlobGone, Erasing, NotFound, ObjectGone, UpstreamRejected
from app.services.archive.moving import MEDIA_TYPE
from app.services.blobs.blobs import Blobs
from app.services.tenant.backends import TenantBackends
from app.services.tenant.screening import Screening
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.lines import Line
from app.services.transfer.reading import read_line
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.storage.archive import ArchivedObject, ArchiveRows
from app.storage.rows import read_rows

RESTORED_DAYS = 30
"""Days for which restored items are not archived again, by default."""


class Archives:
    """The archive of the tenant that is bound in the backends."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._backends = backends
        self._rows = ArchiveRows(backends.tenant_id)

    async def list(
        self,
        *,
        agent_id: str | None = None,
        kind: str | None = None,
        since: int | None = None,
        until: int | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> Sequence[ArchivedObject]:
        """Return the next objects, newest first: of an agent, of a kind, with items of a time (ms since the epoch).

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("limit", limits.LIST_LIMIT, limit))
        wanted = self._rows.list(agent_id=agent_id, kind=kind, since=since, until=until, before=before, limit=limit)
        (rows,) = await self._backends.data.database.run([wanted])
        return read_rows(ArchivedObject, rows)

    async def one(self, archive_id: str, *, only_agent: str | None = None) -> ArchivedObject:
        """Return an object; with ``only_agent``, only an object of this agent.

        Raises:
            NotFound: the tenant has no such object.
            InvalidRequest: the id does not have the form of an id.
            Unavailable: the database does not answer.
        """
        limits.check(("archive_id", limits.MEMORY_ID, archive_id))
        (rows,) = await self._backends.data.database.run([self._rows.one(archive_id)])
        if not rows or only_agent not in {None, rows[0]["agent_id"]}:
            raise NotFound("There is no such object in the archive.")
        return read_rows(ArchivedObject, rows)[0]

    async def read(self, archived: ArchivedObject) -> bytes:
        """Return the bytes of an object, after a look at their number and their hash.

        Raises:
            ObjectGone: the object is missing or has changed; the detail names it.
            Unavailable: the object store does not answer.
        """
        blob = Blob(archived.id, archived.sha256, archived.size, MEDIA_TYPE, archived.archived_at)
        try:
            return await Blobs(self._backends).read(blob)
        except (BlobGone, UpstreamRejected) as error:
            key = key_of(self._backends.tenant_id, archived.id)
            raise ObjectGone(f"The archived object {key} is missing or has changed: {error.detail}") from error

    async def item(self, item_id: str, *, only_agent: str | None = None) -> tuple[ArchivedObject, dict[str, Any]]:
        """Return the object that has an archived item, found by the item's id, and the item's line as JSON.

        With ``only_agent``, only an item of this agent is returned.

        Raises:
            NotFound: no archived item has this id.
            InvalidRequest, ObjectGone, Unavailable: as ``one`` and ``read`` do.
        """
        limits.check(("id", limits.MEMORY_ID, item_id))
        after, gone = "", None
        while True:
            (rows,) = await self._backends.data.database.run([self._rows.with_item(item_id, after)])
            for archived in read_rows(ArchivedObject, rows):
                after = archived.id
                if only_agent not in {None, archived.agent_id}:
                    continue
                try:
                    data = await self.read(archived)
                except ObjectGone as error:  # another object may have the item
                    gone = error
                    continue
                for line in data.split(b"\n")[1:-2]:
                    read = json.loads(line)
                    if read.get("row", read).get("id") == item_id:
                        return archived, read
            if not rows:
                raise gone or NotFound("Nothing of this id is archived.")

    async def restore(
        self,
        archived: ArchivedObject,
        report: ImportReport,
        *,
        only_agent: str | None = None,
        days: int = RESTORED_DAYS,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Import the items of an object; once all are there the object is let go, and `prune` removes it.

        The items stay out of the archive for ``days``. Where a line was not taken although it has not expired, the
        object stays. Raises as ``read`` and ``import_lines`` do, and:

        Raises:
            NotFound: the object was restored or erased meanwhile; items that were stored until then are there.
        """
        data = await self.read(archived)
        database = self._backends.data.database.beginning_with(self._rows.restoring(archived.id))
        backends = self._backends.with_database(database)
        backends = replace(backends, screening=Screening())  # what was kept is restored as it was
        to = Import(backends, report, only_agent=only_agent, retry_budget=retry_budget)

        async def chunks() -> AsyncIterator[bytes]:
            yield data

        try:
            await import_lines(chunks(), to, report)
        except Erasing:
            await self.one(archived.id)
            raise
        expired = sum(_expires_at(line) <= self._backends.clock() for line in data.split(b"\n")[1:-2])
        if report.end == "holds" and not report.counts["conflict"] and report.counts["rejected"] <= expired:
            await self._backends.data.database.run([self._rows.let_go(archived.id, days=days)])


def _expires_at(line: bytes) -> float:
    read = read_line(line)
    expires_at = read.record.expires_at if isinstance(read, Line) and read.is_memory else None
    return inf if expires_at is None else expires_at
