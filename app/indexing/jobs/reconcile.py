"""Compares the index with the database, id by id, and repairs it on request. Crosses tenants; no request imports it.

First the index lists all its ids, which are kept in the database; then the database is walked for memories that
are neither listed nor queued. Every step can be made again, and the place is kept: what was stopped goes on.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

from app.domain.delivery import Acknowledgement
from app.domain.errors import Conflict, CursorExpired, VectorRefused
from app.domain.json_types import Json
from app.ports.database import Database, Row, Statement
from app.ports.embedder import Embedder
from app.ports.index_admin import Held, IndexAdmin
from app.storage.outbox import encode
from app.storage.system import indexer_queue, leases
from app.storage.system import reconcile as statements

_RECENT_MS = 600_000
"""Younger than this, a vector may have begun to show after its page was listed: ask for it by id."""
_BATCH = 100
_BATCH_BYTES = 500_000
_EXAMPLES = 20
_GET_IDS = 20


@dataclass(slots=True)
class Findings:
    """What was found so far: counts, and a few ids of each kind.

    ``missing`` memories have no vector, ``orphans`` are vectors without a memory, ``stale`` memories were embedded
    with another config; ``foreign`` vectors were not written by this service and are left alone.
    """

    listed: int = 0
    walked: int = 0
    missing: int = 0
    orphans: int = 0
    stale: int = 0
    foreign: int = 0
    repaired: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, ids: Sequence[str]) -> None:
        """Count ids of a kind."""
        setattr(self, kind, getattr(self, kind) + len(ids))
        shown = self.examples.setdefault(kind, [])
        shown += ids[: _EXAMPLES - len(shown)]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: what was found, and how many memories there were at the start."""

    findings: Findings
    memories: int


class RateLimiter:
    """Spends calls at a rate, and waits where they come faster."""

    def __init__(self, calls_per_minute: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Begin with none spent."""
        self._seconds = 60 / calls_per_minute
        self._sleep = sleep
        self._next = 0.0

    async def spend(self, calls: int = 1) -> None:
        """Wait until so many calls may be made."""
        now = asyncio.get_running_loop().time()
        if self._next > now:
            await self._sleep(self._next - now)
        self._next = max(now, self._next) + calls * self._seconds


class Reconcile:
    """One comparison of the whole index with the whole database."""

    def __init__(
        self,
        database: Database,
        index: IndexAdmin,
        embedder: Embedder,
        *,
        holder: str,
        rate_limiter: RateLimiter,
        repair: bool,
        report: Callable[[Progress], None],
    ) -> None:
        """Take the ports, this process's name, a rate, whether to repair, and whom to tell how far it is."""
        self._database = database
        self._index = index
        self._embedder = embedder
        self._holder = holder
        self._rate_limiter = rate_limiter
        self._repair = repair
        self._report = report
        self._findings = Findings()
        self._acknowledgements: list[Acknowledgement] = []
        self._memories = 0

    async def run(self) -> Findings:
        """Compare from where the last comparison stopped, and return what was found in all.

        Raises:
            Conflict: another process is comparing.
            Unavailable: a part does not answer; running it again goes on from there.
        """
        state = await self._begin()
        phase, cursor = str(state["phase"]), None if state["cursor"] is None else str(state["cursor"])
        if phase == "listing":
            await self._list(cursor)
            cursor = None
        await self._walk(cursor or "", int(state["started_at"] or 0))
        await self._run([*indexer_queue.write(self._acknowledgements), *statements.end(self._holder)])
        await self._clear()
        return self._findings

    async def _begin(self) -> Row:
        name = self._embedder.config.index_name
        _, (state,) = await self._step(*statements.begin(name))
        if state["index_name"] != name:  # what was begun concerns an index no longer in use
            await self._run(statements.end(self._holder))
            return await self._begin()
        self._findings = Findings(**json.loads(str(state["findings"])))
        self._memories = int(state["memories"] or 0)
        if state["phase"] == "listing" and state["cursor"] is None:
            await self._clear()
        return state

    async def _list(self, cursor: str | None) -> None:
        """Note every id the index lists; what no memory and no queued change explains is an orphan."""
        while True:
            await self._rate_limiter.spend()
            try:
                page = await self._index.list_ids(cursor)
            except CursorExpired:
                cursor, self._findings = None, Findings()
                await self._clear()
                continue
            config = self._embedder.config
            _, _, orphans, stale = await self._step(
                statements.keep("listing", cursor, asdict(self._findings)), *statements.listed(page.ids, config)
            )
            self._findings.listed += len(page.ids)
            await self._found_orphans([str(row["id"]) for row in orphans])
            self._findings.add("stale", [str(row["id"]) for row in stale])
            await self._embed_again(stale)
            self._tell()
            if page.cursor is None:
                return
            cursor = page.cursor

    async def _walk(self, after: str, started_at: int) -> None:
        """Walk the database for memories without a vector."""
        while True:
            _, rows, (window,) = await self._step(
                statements.keep("missing", after, asdict(self._findings)),
                *statements.missing(after, self._embedder.config),
            )
            missing = await self._really_missing(rows, started_at)
            self._findings.add("missing", [str(row["id"]) for row in missing])
            await self._embed_again(missing)
            self._findings.walked += int(window["memories"] or 0)
            self._tell()
            if window["last"] is None:
                return
            after = str(window["last"])

    async def _really_missing(self, rows: Sequence[Row], started_at: int) -> list[Row]:
        recent = [str(row["id"]) for row in rows if int(row["created_at"] or 0) > started_at - _RECENT_MS]
        shown = await self._held(recent) if recent else {}
        return [row for row in rows if row["id"] not in shown]

    async def _held(self, ids: Sequence[str]) -> dict[str, Held]:
        await self._rate_limiter.spend(-(-len(ids) // _GET_IDS))
        return dict(await self._index.held(ids))

    async def _found_orphans(self, ids: Sequence[str]) -> None:
        """Count orphans and queue their removal; whose they are only the index knows."""
        if not ids:
            return
        held = await self._held(ids)
        ours = [id_ for id_, found in held.items() if found.scope.tenant_id]
        self._findings.add("orphans", ours)
        self._findings.add("foreign", [id_ for id_ in held if id_ not in ours])
        if not self._repair or not ours:
            return
        orphans: list[dict[str, Json]] = [
            {"id": id_, "tenant_id": held[id_].scope.tenant_id, "agent_id": held[id_].scope.agent_id} for id_ in ours
        ]
        await self._step(statements.queue_deletes(orphans, self._embedder.config))
        self._findings.repaired += len(ours)

    async def _embed_again(self, rows: Sequence[Row]) -> None:
        """Embed memories anew, queue their vectors and send them; the indexer confirms them, or sends them again."""
        if not self._repair:
            return
        for ids in _batches(rows):
            (texts,) = await self._step(statements.contents(ids))
            if not texts:
                continue
            await self._rate_limiter.spend()
            embedded = await self._embedder.embed([str(row["content"]) for row in texts], "document")
            vectors = {str(row["id"]): encode(vector) for row, vector in zip(texts, embedded.vectors, strict=True)}
            acknowledgements, self._acknowledgements = self._acknowledgements, []
            *_, queued = await self._step(
                *indexer_queue.write(acknowledgements),
                *statements.queue_upserts(vectors, self._embedder.config),
            )
            await self._send(queued)
            self._findings.repaired += len(queued)
            self._tell()

    async def _send(self, queued: Sequence[Row]) -> None:
        if not queued:
            return
        await self._rate_limiter.spend()
        try:
            dimensions = self._embedder.config.dimensions
            at = await self._index.upsert([indexer_queue.vector(row, dimensions) for row in queued])
        except VectorRefused:  # the indexer finds out which
            return
        confirm_ms = int(self._index.confirm_seconds * 1000)
        self._acknowledgements = [
            Acknowledgement(indexer_queue.key(row), "acknowledged", at, confirm_ms=confirm_ms) for row in queued
        ]

    async def _clear(self) -> None:
        while any(await self._run([statements.clear()])):
            pass

    async def _step(self, *then: Statement) -> list[list[Row]]:
        """Renew the lease and run the statements; return their rows."""
        leased, *results = await self._run([leases.hold(statements.LEASE, self._holder), *then])
        if not leased:
            raise Conflict("Another process is comparing the index with the database.")
        return results

    async def _run(self, run: Sequence[Statement]) -> list[list[Row]]:
        await self._rate_limiter.spend()
        return await self._database.run(run)

    def _tell(self) -> None:
        self._report(Progress(self._findings, self._memories))


def _batches(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Group rows so that neither their number nor their texts are too many for one call."""
    batch: list[str] = []
    size = 0
    for row in rows:
        length = int(row["bytes"] or 0)
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(str(row["id"]))
        size += length
    if batch:
        yield batch
