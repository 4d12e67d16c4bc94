"""Brings the index up to date with the outbox, in the background. Crosses tenants; no request imports it.

One round is one run of the database, then what it found to do at the index. What the index answers becomes
marks, which the next round writes (docs/reliability.md).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import structlog

from app.domain.delivery import Acknowledgement, Kind
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Unavailable, VectorRefused
from app.indexing.acknowledgements import Acknowledgements
from app.indexing.embedding_registry import OpenIndex
from app.indexing.jobs.erase import Eraser
from app.ports.database import Database, Row, Statement
from app.ports.index_admin import Held, IndexAdmin
from app.ports.vector_index import IndexedVector
from app.storage.request_state import INDEXER
from app.storage.system import indexer_queue, leases
from app.storage.system.indexer_queue import Work
from app.storage.system.outbox_status import OutboxStatus

IDLE_ROUNDS = 20
"""An idle indexer looks once in so many pauses."""

_MAX_BACK_OFF = 60.0
_MAX_FAILURES = 10
_MAX_MARKS = 20_000
"""Of one run, which has at most a hundred statements."""

Report = Callable[[OutboxStatus], None]
"""Takes how the outbox stands, after every round."""


class Indexer:
    """Sends what the index lacks, confirms what it shows, removes what is deleted: one process at a time, by a lease.

    The lease saves calls and guards nothing else: whatever a second indexer does, a row changes only at the
    revision it was read at.
    """

    def __init__(
        self,
        database: Database,
        index_of: OpenIndex,
        acknowledgements: Acknowledgements,
        *,
        holder: str,
        report: Report | None = None,
    ) -> None:
        """Take the ports, this process's marks and its name, and whom to tell how things stand; nothing runs yet."""
        self._database = database
        self._index_of = index_of
        self._acknowledgements = acknowledgements
        self._holder = holder
        self._eraser = Eraser(database, index_of)
        self._report = report

    async def run(self, pause: float) -> None:
        """Work until cancelled, a round at most every ``pause`` seconds, an idle one every ``IDLE_ROUNDS`` pauses.

        An unavailable part is logged and tried again, ever less often; anything else is a defect and is raised.
        """
        failures = 0
        while True:
            try:
                delay = await self.round()
            except Unavailable as error:
                delay = max(pause, min(pause * 2**failures, _MAX_BACK_OFF), error.retry_after or 0)
                failures = min(failures + 1, _MAX_FAILURES)
                structlog.get_logger().warning("indexer_waits", code=error.code, reason=error.detail, seconds=delay)
                await asyncio.sleep(delay)
            else:
                failures = 0
                await asyncio.sleep(pause)
                await self._acknowledgements.wait(min(delay, pause * IDLE_ROUNDS) - pause)

    async def round(self) -> float:
        """Do what is due and return in how many seconds there may be more to do."""
        work = await self._take()
        if self._report is not None:
            self._report(work.status)
        if work.held:
            await self._send(work)
            await self._confirm(work)
            for erasure in work.erasures:
                await self._eraser.advance(erasure)
        if self._acknowledgements or work.erasures:
            return 0
        return float("inf") if work.next_ms is None else max(0, work.next_ms) / 1000

    async def close(self) -> None:
        """Write the marks and give the lease back."""
        acknowledgements = self._acknowledgements.take(_MAX_MARKS)
        await self._database.run([*indexer_queue.write(acknowledgements), leases.release(INDEXER, self._holder)])

    async def check_writable(self) -> None:
        """Raise ``DatabaseUnavailable`` if the outbox can be read but not written."""
        await self._database.run([Statement("DELETE FROM outbox WHERE FALSE", writes=True, repeatable=True)])

    async def _take(self) -> Work:
        """Write this process's marks and read what is due; marks that could not be written are kept."""
        acknowledgements = self._acknowledgements.take(_MAX_MARKS)
        statements = indexer_queue.take(self._holder, acknowledgements)
        try:
            results = await self._database.run(statements)
        except Unavailable:
            self._acknowledgements.put_back(acknowledgements)
            raise
        return indexer_queue.read(results[len(results) - indexer_queue.READS :])

    async def _send(self, work: Work) -> None:
        """Bring each index to what the rows say."""
        for config, rows in work.by_config(work.unsent):
            index = self._index_of(config)
            await self._upsert(index, config, [row for row in rows if row["operation"] == "upsert"])
            for scope, group in indexer_queue.by_scope([row for row in rows if row["operation"] == "delete"]):
                at = await index.delete(scope, [str(row["id"]) for row in group])
                self._acknowledged(index, group, at)

    async def _upsert(self, index: IndexAdmin, config: EmbeddingConfig, rows: Sequence[Row]) -> None:
        """Send vectors; where the index refuses some for what they are, find out which by halves."""
        if not rows:
            return
        try:
            at = await index.upsert([indexer_queue.vector(row, config.dimensions) for row in rows])
        except VectorRefused as error:
            if len(rows) == 1:
                self._mark(rows, "refused", reason=error.detail)
                return
            half = len(rows) // 2
            await self._upsert(index, config, rows[:half])
            await self._upsert(index, config, rows[half:])
        else:
            self._acknowledged(index, rows, at)

    async def _confirm(self, work: Work) -> None:
        """Find out what each index shows of what was sent a while ago."""
        last_sent = dict(work.by_config(work.last_sent))
        for config, rows in work.by_config(work.sent):
            index = self._index_of(config)
            passed = await self._passed(index, rows)
            if len(passed) < len(rows):
                vectors = [indexer_queue.vector(row, config.dimensions) for row in last_sent.get(config, [])]
                await _nudge(index, vectors, rows[-1])
            if passed:
                await self._compare(index, passed)

    async def _passed(self, index: IndexAdmin, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that the index has passed, and let the others wait: they may show yet."""
        watermark = await index.watermark()
        self._mark([row for row in rows if int(row["acknowledged_at"] or 0) > watermark], "waits")
        return [row for row in rows if int(row["acknowledged_at"] or 0) <= watermark]

    async def _compare(self, index: IndexAdmin, passed: Sequence[Row]) -> None:
        held = await index.held([str(row["id"]) for row in passed])
        shown = [row for row in passed if row["operation"] == "upsert" and _shows(held, row)]
        gone = [row for row in passed if row["operation"] == "delete" and row["id"] not in held]
        self._mark(shown, "confirmed")
        self._mark(gone, "settled")
        self._mark([row for row in passed if row not in shown and row not in gone], "lost")

    def _acknowledged(self, index: IndexAdmin, rows: Sequence[Row], at: int) -> None:
        self._mark(rows, "acknowledged", at=at, confirm_ms=int(index.confirm_seconds * 1000))

    def _mark(self, rows: Sequence[Row], kind: Kind, *, at: int = 0, reason: str = "", confirm_ms: int = 0) -> None:
        if not rows:
            return
        for row in rows:
            self._acknowledgements.add(Acknowledgement(indexer_queue.key(row), kind, at, reason, confirm_ms))
        level = structlog.get_logger().warning if kind in {"lost", "refused"} else structlog.get_logger().info
        level("outbox_rows", became=kind, rows=len(rows), operations=sorted({str(row["operation"]) for row in rows}))


async def _nudge(index: IndexAdmin, vectors: Sequence[IndexedVector], waiting: Row) -> None:
    """Send one change again: an index's mark stands still while nothing is written to it."""
    if vectors:
        await index.upsert(vectors)
    else:
        await index.delete(indexer_queue.key(waiting).scope, [str(waiting["id"])])


def _shows(held: Mapping[str, Held], row: Row) -> bool:
    shown = held.get(str(row["id"]))
    return shown is not None and shown.revision >= int(row["revision"] or 0)
