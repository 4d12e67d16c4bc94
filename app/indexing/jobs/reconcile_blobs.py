"""Compares the object store with the rows of blobs, tenant by tenant. Crosses tenants; no request imports it.

No progress is kept between two tenants: a comparison that was stopped is run again. The objects of a tenant are listed
before its rows are read, and a row comes before its object and goes after it: so an object without a row has no owner.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from ulid import ULID

from app.domain.blobs import ROOT, key_of, read_key
from app.domain.errors import Unavailable
from app.indexing.jobs.erase_blobs import remove_objects
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.ports.object_store import ObjectStore
from app.storage.rows import read_rows
from app.storage.system import blobs
from app.storage.system.blobs import SETTLED_MS, WINDOW, BlobRow
from app.storage.system.clock import database_time

_MAX_EXAMPLES = 20


@dataclass(slots=True)
class BlobFindings:
    """The findings: counts, and a few example keys of each kind.

    ``orphans`` are objects without a row; ``missing`` are stored blobs without an object, and ``changed`` are stored
    blobs whose object has another size; ``unfinished`` are blobs that were begun more than an hour ago and are not
    stored: still being written, or being deleted; ``foreign`` objects were not written by this service and are not
    touched.
    """

    objects: int = 0
    rows: int = 0
    orphans: int = 0
    missing: int = 0
    changed: int = 0
    unfinished: int = 0
    foreign: int = 0
    repaired: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, keys: Sequence[str]) -> None:
        """Count the keys of a kind, and keep some as examples."""
        if keys:
            setattr(self, kind, getattr(self, kind) + len(keys))
            shown = self.examples.setdefault(kind, [])
            shown += keys[: _MAX_EXAMPLES - len(shown)]


class ReconcileBlobs:
    """One comparison of all objects with all rows."""

    def __init__(
        self,
        databases: Sequence[Database],
        objects: ObjectStore,
        *,
        rate_limiter: RateLimiter,
        repair: bool = False,
    ) -> None:
        """Take the databases with rows of blobs, and the objects; ``repair`` removes orphans and unfinished blobs.

        A stored blob whose object is missing or changed is reported and never removed: its owner has to know.
        """
        self._databases = databases
        self._objects = objects
        self._rate_limiter = rate_limiter
        self._repair = repair
        self._findings = BlobFindings()

    async def run(self) -> BlobFindings:
        """Compare all objects with all rows, and return the findings.

        Raises:
            Unavailable: the database or the object store does not answer, or there are blobs and no object store is
                set; no blob counts as missing then.
        """
        await self._rate_limiter.spend()
        now = await database_time(self._databases[0])
        first = await self._run(blobs.tenants(""))
        try:
            seen = {tenant_id async for tenant_id in self._with_objects(now)}
        except Unavailable:
            if first or self._objects.backend != "none":
                raise
            return self._findings
        after = ""
        while tenants := sorted({str(row["tenant_id"]) for row in await self._run(blobs.tenants(after))})[:WINDOW]:
            for after in tenants:
                if after not in seen:
                    await self._compare(after, {}, now)
        return self._findings

    async def _with_objects(self, now: int) -> AsyncIterator[str]:
        """Compare every tenant that has objects, and yield its id. The listing has a tenant's objects together."""
        current, sizes = "", dict[str, int]()
        async for page in self._objects.list(ROOT):
            for stored in page:
                self._findings.objects += 1
                read = read_key(stored.key)
                if read is None:
                    self._findings.add("foreign", [stored.key])
                    continue
                if read[0] != current and current:
                    await self._compare(current, sizes, now)
                    yield current
                    sizes = {}
                current = read[0]
                sizes[read[1]] = stored.size
        if current:
            await self._compare(current, sizes, now)
            yield current

    async def _compare(self, tenant_id: str, sizes: dict[str, int], now: int) -> None:
        """Compare a tenant's objects, by their ids, with its rows."""
        orphans = dict(sizes)
        async for rows in self._rows(tenant_id):
            for row in rows:
                orphans.pop(row.id, None)
            await self._compare_rows(tenant_id, rows, sizes)
        old = [id_ for id_ in orphans if ULID.from_str(id_).milliseconds <= now - SETTLED_MS]
        self._found("orphans", tenant_id, old)
        if self._repair and old:
            await remove_objects(self._objects, tenant_id, old)
            self._findings.repaired += len(old)

    async def _compare_rows(self, tenant_id: str, rows: Sequence[BlobRow], sizes: Mapping[str, int]) -> None:
        """Compare rows with the objects; a row whose write may be under way is left alone."""
        self._findings.rows += len(rows)
        settled = [row for row in rows if row.settled]
        stored = [row for row in settled if row.state == "stored"]
        self._found("missing", tenant_id, [row.id for row in stored if row.id not in sizes])
        self._found("changed", tenant_id, [row.id for row in stored if sizes.get(row.id, row.size) != row.size])
        await self._give_up(tenant_id, [row.id for row in settled if row.state != "stored"])

    async def _rows(self, tenant_id: str) -> AsyncIterator[list[BlobRow]]:
        after = ""
        while True:
            found = read_rows(BlobRow, await self._run(blobs.of_tenant(tenant_id, after)))
            one_each = {row.id: row for row in found}  # while a tenant moves, two databases have its rows
            read = [one_each[id_] for id_ in sorted(one_each)][:WINDOW]
            yield read
            if len(read) < WINDOW:
                return
            after = read[-1].id

    async def _give_up(self, tenant_id: str, ids: Sequence[str]) -> None:
        """Remove blobs that no process carries on with: first the objects, as far as they exist, then the rows."""
        self._found("unfinished", tenant_id, ids)
        if not self._repair or not ids:
            return
        await self._run(blobs.condemn(tenant_id, ids))
        await remove_objects(self._objects, tenant_id, ids)
        await self._run(blobs.remove(tenant_id, ids))
        self._findings.repaired += len(ids)

    def _found(self, kind: str, tenant_id: str, ids: Sequence[str]) -> None:
        self._findings.add(kind, [key_of(tenant_id, id_) for id_ in ids])

    async def _run(self, statement: Statement) -> list[Row]:
        """Run a statement in every database, and return the rows of all databases."""
        found: list[Row] = []
        for database in self._databases:
            await self._rate_limiter.spend()
            (rows,) = await database.run([statement])
            found += rows
        return found
