"""Brings the index up to date with the outbox, in the background. Crosses tenants; no request imports it.

One round is one run of the database, followed by the work at the index that the run has read. The index's answers
become acknowledgements, which the next round writes (docs/reliability.md).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import structlog

from app.domain.delivery import Acknowledgement, Outcome
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import Unavailable, VectorRefused
from app.domain.memory import Scope
from app.indexing.delivery import Acknowledgements
from app.indexing.embedding_registry import OpenIndex
from app.indexing.jobs.erase import Eraser
from app.indexing.lease_keeper import LeaseKeeper, log_void
from app.ports.database import Database
from app.ports.index_admin import IndexAdmin, IndexRecord
from app.ports.vector_index import IndexedVector
from app.storage.lease_rule import LEASE_MS
from app.storage.system import indexer_queue
from app.storage.system.indexer_queue import IndexerWork, QueuedChange
from app.storage.system.leases import INDEXER
from app.storage.system.outbox_status import OutboxStatus

IDLE_ROUNDS = 20
"""An idle indexer runs one round in this many pauses."""

_DAMAGED = "The queued vector is damaged: it has another length than its embedding config says."
_MAX_BACK_OFF = 60.0
_MAX_AT_ONCE = 4
"""Rounds without a pause between them while an erasure goes on."""
_MAX_FAILURES = 10
_MAX_ACKNOWLEDGEMENTS = 20_000
"""Acknowledgements of one run, which has at most a hundred statements."""

Report = Callable[[OutboxStatus], None]
"""Receives the status of the outbox after every round."""


class Indexer:
    """Sends the changes that the index lacks, and confirms that it shows them: one process at a time, by a lease.

    The lease saves calls and is not needed for correctness: also with a second indexer, a row changes only at the
    revision at which it was read.
    """

    def __init__(
        self,
        database: Database,
        index_of: OpenIndex,
        acknowledgements: Acknowledgements,
        *,
        holder: str,
        report: Report | None = None,
        eraser: Eraser | None = None,
        rests: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take the ports, this process's acknowledgements and name, and a callback for the outbox's status.

        ``eraser`` carries out erasures; None: one that knows of no objects. ``rests`` returns whether no round begins
        now, because requests need the calls.
        """
        self._database = database
        self._index_of = index_of
        self._acknowledgements = acknowledgements
        self._holder = holder
        self._lease = LeaseKeeper(database, INDEXER, holder)
        self._lease_ms = LEASE_MS
        self._eraser = eraser or Eraser(database, index_of)
        self._report = report
        self._rests = rests
        self._goes_on = False
        self._purges = False
        """Whether the database's log may still have content of deleted memories, whose vectors are removed."""

    async def run(self, pause: float) -> None:
        """Work until cancelled: a round at most every ``pause`` seconds, an idle one every ``IDLE_ROUNDS`` pauses.

        An unavailable backend is logged and tried again with a growing delay; any other error is a defect and is
        raised.
        """
        failures = at_once = 0
        self._lease_ms = min(LEASE_MS + int(pause * 1000), INDEXER.longest_ms)
        while True:
            if self._rests():
                structlog.get_logger().info("indexer_rests", seconds=pause)
                await asyncio.sleep(pause)
                continue
            try:
                delay = await self.round()
            except Unavailable as error:
                delay = max(pause, min(pause * 2**failures, _MAX_BACK_OFF), error.retry_after or 0)
                failures = min(failures + 1, _MAX_FAILURES)
                structlog.get_logger().warning("indexer_waits", code=error.code, reason=error.detail, seconds=delay)
                await asyncio.sleep(delay)
            else:
                failures = 0
                at_once = at_once + 1 if self._goes_on and at_once < _MAX_AT_ONCE else 0
                if at_once:
                    continue
                await asyncio.sleep(pause)
                await self._acknowledgements.wait(min(delay, pause * IDLE_ROUNDS) - pause)

    async def round(self) -> float:
        """Do the work that is due, and return in how many seconds more may be due.

        Work for which the lease is lost is cut off: the process that has the lease now does it.
        """
        began = asyncio.get_running_loop().time()
        work = await self._take()
        if self._report is not None:
            self._report(work.status)
        if work.lease is not None:
            log_void(work.lease)
        done = work.leased and await self._lease.keep(self._do(work), since=began, lease_ms=self._lease_ms)
        self._goes_on = done and self._removes_at_once(work)
        if self._purges and not self._goes_on:
            self._purges = not await self._database.purge_log()
        return 0 if self._acknowledgements or work.erasures else _seconds_to_next(work)

    async def _do(self, work: IndexerWork) -> None:
        await self._send(work)
        await self._confirm(work)
        await self._eraser.advance(work.erasures, work.configs.values())

    def _removes_at_once(self, work: IndexerWork) -> bool:
        """Return whether vectors were removed, or are to be, by indexes that show a removal at once."""
        removes = bool(work.erasures) or any(change.operation == "delete" for change in work.unsent)
        return removes and all(self._index_of(config).visible_at_once for config in work.configs.values())

    async def close(self) -> None:
        """Write the acknowledgements and release the lease."""
        acknowledgements = self._acknowledgements.take(_MAX_ACKNOWLEDGEMENTS)
        await self._database.run([*indexer_queue.write(acknowledgements), INDEXER.release(self._holder)])

    async def check_writable(self) -> None:
        """Raise ``DatabaseUnavailable`` if the outbox can be read but not written."""
        await self._database.run([indexer_queue.CHECK_WRITABLE])

    async def _take(self) -> IndexerWork:
        """Write this process's acknowledgements and read the work that is due.

        Acknowledgements that could not be written are kept.
        """
        acknowledgements = self._acknowledgements.take(_MAX_ACKNOWLEDGEMENTS)
        statements = indexer_queue.take(self._holder, acknowledgements, lease_ms=self._lease_ms)
        try:
            return indexer_queue.read(await self._database.run(statements))
        except Unavailable:
            self._acknowledgements.put_back(acknowledgements)
            raise
        finally:
            self._purges |= any(acknowledgement.outcome == "settled" for acknowledgement in acknowledgements)

    async def _send(self, work: IndexerWork) -> None:
        """Send the changes to their indexes: deletes first, which an index that takes no more vectors still takes.

        A change that fails keeps no other from being sent: the first error is raised when all were tried.
        """
        failures: list[Unavailable] = []
        for config, changes in work.by_config(work.unsent):
            index = self._index_of(config)
            deletes = [change for change in changes if change.operation == "delete"]
            upserts = [change for change in changes if change.operation == "upsert"]
            for send in (partial(self._delete, index, deletes), partial(self._upsert, index, config, upserts)):
                try:
                    await send()
                except Unavailable as error:
                    failures.append(error)
        if failures:
            raise failures[0]

    async def _delete(self, index: IndexAdmin, changes: Sequence[QueuedChange]) -> None:
        """Remove vectors, with a call for each scope."""
        scopes: dict[Scope, list[QueuedChange]] = {}
        for change in changes:
            scopes.setdefault(change.scope, []).append(change)
        for scope, group in scopes.items():
            at = await index.delete(scope, [change.id for change in group])
            if index.visible_at_once:
                self._acknowledge(group, "settled")
            else:
                self._acknowledge_sent(index, group, at)

    async def _upsert(self, index: IndexAdmin, config: EmbeddingConfig, changes: Sequence[QueuedChange]) -> None:
        """Send vectors; where the index refuses some of them, find out which by halving the batch.

        A vector that is damaged in the outbox is not sent: its row is refused for ever, and ``reconcile --repair``
        makes the vector again.
        """
        damaged = [change for change in changes if not change.is_readable(config.dimensions)]
        self._acknowledge(damaged, "refused", reason=_DAMAGED)
        changes = [change for change in changes if change not in damaged] if damaged else changes
        if not changes:
            return
        try:
            at = await index.upsert([change.to_index(config.dimensions) for change in changes])
        except VectorRefused as error:
            if len(changes) == 1:
                self._acknowledge(changes, "refused", reason=error.detail)
                return
            half = len(changes) // 2
            await self._upsert(index, config, changes[:half])
            await self._upsert(index, config, changes[half:])
        else:
            self._acknowledge_sent(index, changes, at)

    async def _confirm(self, work: IndexerWork) -> None:
        """Check which of the changes sent a while ago each index shows."""
        last_sent = dict(work.by_config(work.last_sent))
        for config, changes in work.by_config(work.sent):
            index = self._index_of(config)
            visible = await self._visible(index, changes)
            if len(visible) < len(changes):
                last = [change for change in last_sent.get(config, []) if change.is_readable(config.dimensions)]
                vectors = [change.to_index(config.dimensions) for change in last]
                await _send_again(index, vectors, changes[-1])
            if visible:
                await self._compare(index, visible)

    async def _visible(self, index: IndexAdmin, changes: Sequence[QueuedChange]) -> list[QueuedChange]:
        """Return the changes up to the index's watermark, which it must show; the others wait."""
        watermark = await index.watermark()
        self._acknowledge([change for change in changes if (change.acknowledged_at or 0) > watermark], "waits")
        return [change for change in changes if (change.acknowledged_at or 0) <= watermark]

    async def _compare(self, index: IndexAdmin, changes: Sequence[QueuedChange]) -> None:
        """Compare changes with what the index shows; a change that the index does not show is lost."""
        held = await index.held([change.id for change in changes])
        outcomes: dict[Outcome, list[QueuedChange]] = {"confirmed": [], "settled": [], "lost": []}
        for change in changes:
            if change.operation == "upsert":
                outcomes["confirmed" if _shows(held, change) else "lost"].append(change)
            else:
                outcomes["lost" if change.id in held else "settled"].append(change)
        for outcome, group in outcomes.items():
            self._acknowledge(group, outcome)

    def _acknowledge_sent(self, index: IndexAdmin, changes: Sequence[QueuedChange], at: int) -> None:
        self._acknowledge(changes, "acknowledged", at=at, confirm_ms=int(index.confirm_seconds * 1000))

    def _acknowledge(
        self, changes: Sequence[QueuedChange], outcome: Outcome, *, at: int = 0, reason: str = "", confirm_ms: int = 0
    ) -> None:
        if not changes:
            return
        for change in changes:
            self._acknowledgements.add(Acknowledgement(change.key, outcome, at, reason, confirm_ms))
        log = structlog.get_logger()
        level = log.warning if outcome in {"lost", "refused"} else log.info
        operations = sorted({change.operation for change in changes})
        level("outbox_rows", became=outcome, rows=len(changes), operations=operations)


def _seconds_to_next(work: IndexerWork) -> float:
    """Return in how many seconds more may be due."""
    next_seconds = float("inf") if work.next_ms is None else max(0, work.next_ms) / 1000
    if work.status.erasures and not work.leased and work.lease is not None:  # its holder may have died
        return min(next_seconds, work.lease.left_ms / 1000)
    return next_seconds


async def _send_again(index: IndexAdmin, vectors: Sequence[IndexedVector], waiting: QueuedChange) -> None:
    """Send one change again, because an index's watermark stands still while nothing is written to it."""
    if vectors:
        await index.upsert(vectors)
    else:
        await index.delete(waiting.scope, [waiting.id])


def _shows(held: Mapping[str, IndexRecord], change: QueuedChange) -> bool:
    shown = held.get(change.id)
    return shown is not None and shown.revision >= change.revision
