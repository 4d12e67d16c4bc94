"""Compares the index with the database, id by id, and repairs it on request. Crosses tenants; no request imports it.

First the index lists all its ids, which are kept in the database; then all memories are checked for those that are
neither listed nor queued; then the vectors that the index shows are compared with the memories, also through the filter
that recalls use. Every step can be repeated, and the progress is saved: a reconcile that stops is continued by the next
one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from app.domain.delivery import Acknowledgement
from app.domain.embedding import Vector, encode
from app.domain.errors import Conflict, CursorExpired, VectorRefused
from app.domain.json_types import Json
from app.indexing.jobs.compare_vectors import VectorComparison
from app.indexing.jobs.findings import Findings, Progress
from app.indexing.jobs.rebuild_words import count_missing_words, rebuild_words
from app.indexing.lease_keeper import log_void
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.ports.embedder import Embedder
from app.ports.index_admin import IndexAdmin, IndexRecord
from app.storage.rows import read_row, read_rows
from app.storage.system import index_build, indexer_queue
from app.storage.system import reconcile as statements
from app.storage.system.indexer_queue import QueuedChange
from app.storage.system.leases import read_leases
from app.storage.system.reconcile import ComparedMemory, Content, MemoryWindow, ReconcileState, UnindexedMemory

_RECENT_MS = 600_000
"""The vector of a memory younger than this may become visible after its page was listed, so it is looked up by id."""
MAX_BATCH = 100
"""How many memories are embedded in one call."""
_MAX_BATCH_BYTES = 500_000
_MAX_IDS_PER_CALL = 20


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
        """Take the ports, this process's name, a rate limiter, whether to repair, and a callback for the progress."""
        self._database = database
        self._index = index
        self._embedder = embedder
        self._holder = holder
        self._rate_limiter = rate_limiter
        self._repair = repair
        self._report = report
        self._vectors = VectorComparison(index, embedder, rate_limiter.spend)
        self._findings = Findings()
        self._acknowledgements: list[Acknowledgement] = []
        self._memories = 0
        self._checked: int | None = None
        """Memories that were checked, with those of the present window that are embedded; None while listing."""

    async def run(self, *, values: bool = False) -> Findings:
        """Continue where the last comparison stopped, and return the findings of the whole comparison.

        ``values``: whether every memory is embedded again to compare the values of its vector.

        Raises:
            Conflict: another process is comparing, or the index is being made.
            Unavailable: the database, the index or the embedder does not answer; the next run continues from there.
        """
        state = await self._begin()
        await self._check_words()
        if state.phase == "listing":
            await self._check_index(state.cursor)
            state = replace(state, phase="missing", cursor=None)
        if state.phase == "missing":
            await self._check_memories(state.cursor or "", state.started_at)
            state = replace(state, phase="comparing", cursor=None)
        await self._compare_vectors(state.cursor, values=values)
        await self._run([*indexer_queue.write(self._acknowledgements), *statements.end(self._holder)])
        await self._clear()
        return self._findings

    async def _begin(self) -> ReconcileState:
        name = self._embedder.config.index_name
        building, _, (row,) = await self._step(
            index_build.read(self._embedder.config), *statements.begin(name, repairs=self._repair)
        )
        if building:
            raise Conflict("The index is being made. If that was stopped, run: memory-gateway rebuild --yes")
        state = read_row(ReconcileState, row)
        only_looked = self._repair and not state.repairs  # its findings would stay unrepaired
        if state.index_name != name or only_looked:  # or a reconcile of an index that is no longer in use
            await self._run(statements.end(self._holder))
            return await self._begin()
        self._findings = Findings(**state.findings)
        self._memories = state.memories
        if state.phase == "listing" and state.cursor is None:
            await self._clear()
        return state

    async def _check_index(self, cursor: str | None) -> None:
        """Keep every id that the index lists; an id without a memory and without a queued change is an orphan."""
        while True:
            await self._rate_limiter.spend()
            try:
                page = await self._index.list_ids(cursor)
            except CursorExpired:
                cursor, self._findings = None, Findings()
                await self._clear()
                continue
            config = self._embedder.config
            _, _, orphans, stale_rows = await self._step(
                statements.save("listing", cursor, asdict(self._findings)), *statements.add_listed(page.ids, config)
            )
            self._findings.listed += len(page.ids)
            await self._found_orphans([str(row["id"]) for row in orphans])
            stale = read_rows(UnindexedMemory, stale_rows)
            self._findings.add("stale", [memory.id for memory in stale])
            await self._embed_again(stale)
            await self._found_unreadable(page.unreadable)
            self._report_progress()
            if page.cursor is None:
                return
            cursor = page.cursor

    async def _check_memories(self, after: str, started_at: int) -> None:
        """Find the memories without a vector, window by window."""
        while True:
            self._checked = self._findings.walked
            _, rows, (window_row,) = await self._step(
                statements.save("missing", after, asdict(self._findings)),
                *statements.read_missing(after, self._embedder.config),
            )
            missing = await self._without_visible(read_rows(UnindexedMemory, rows), started_at)
            self._findings.add("missing", [memory.id for memory in missing if not memory.unreadable])
            if unreadable := [memory.id for memory in missing if memory.unreadable]:
                self._findings.add("unreadable", unreadable)
            await self._embed_again(missing)
            window = read_row(MemoryWindow, window_row)
            self._findings.walked += window.memories
            self._checked = self._findings.walked
            self._report_progress()
            if window.last is None:
                return
            after = window.last

    async def _compare_vectors(self, cursor: str | None, *, values: bool) -> None:
        """Compare the vectors that the index shows with memories that have no queued change, a hundred at a time."""
        self._checked = self._findings.walked
        config = self._embedder.config
        while True:
            _, rows = await self._step(
                statements.save("comparing", cursor, asdict(self._findings)), statements.read_compared(cursor, config)
            )
            page = read_rows(ComparedMemory, rows)
            if not page:
                return
            unqueued = [memory for memory in page if not memory.queued]
            hidden, changed = await self._differing(unqueued, await self._embedded(unqueued) if values else {})
            for kind, found in (("hidden", hidden), ("changed", changed)):
                if found:
                    self._findings.add(kind, [memory.id for memory in found])
            await self._embed_again(list({one.id: one for one in (*hidden, *changed)}.values()))
            self._findings.compared += len(page)
            self._report_progress()
            cursor = page[-1].cursor

    async def _differing(
        self, memories: Sequence[ComparedMemory], values: Mapping[str, Vector]
    ) -> tuple[list[UnindexedMemory], list[UnindexedMemory]]:
        """Return memories that no search finds, and those that the index shows differently, if they are unchanged."""
        found = await self._vectors.compare([memory.expected(values.get(memory.id)) for memory in memories])
        if not any(found):
            return [], []
        (rows,) = await self._step(
            statements.read_compared_again(sorted({*found[0], *found[1]}), self._embedder.config)
        )
        before = {memory.id: memory for memory in memories}
        still = {one.id: one for one in read_rows(ComparedMemory, rows) if one == before[one.id]}
        hidden, changed = ([UnindexedMemory(id_, still[id_].bytes) for id_ in ids if id_ in still] for ids in found)
        return hidden, changed

    async def _embedded(self, memories: Sequence[ComparedMemory]) -> dict[str, Vector]:
        """Embed memories again; a memory that is gone is left out."""
        values: dict[str, Vector] = {}
        for ids in _batches([UnindexedMemory(memory.id, memory.bytes) for memory in memories]):
            (rows,) = await self._step(statements.read_contents(ids))
            contents = read_rows(Content, rows)
            if contents:
                await self._rate_limiter.spend()
                embedded = await self._embedder.embed([memory.embedded_text for memory in contents], "document")
                values |= zip((memory.id for memory in contents), embedded.vectors, strict=True)
        return values

    async def _without_visible(self, memories: Sequence[UnindexedMemory], started_at: int) -> list[UnindexedMemory]:
        """Return the memories without those whose vectors have become visible since their page was listed."""
        recent = [memory.id for memory in memories if memory.created_at > started_at - _RECENT_MS]
        shown = await self._held(recent) if recent else {}
        return [memory for memory in memories if memory.unreadable or memory.id not in shown]

    async def _held(self, ids: Sequence[str]) -> dict[str, IndexRecord]:
        await self._rate_limiter.spend(-(-len(ids) // _MAX_IDS_PER_CALL))
        return dict(await self._index.held(ids))

    async def _found_orphans(self, ids: Sequence[str]) -> None:
        """Count orphans and queue their removal; only the index knows their scopes."""
        if not ids:
            return
        held = await self._held(ids)
        ours = [id_ for id_, found in held.items() if found.scope.tenant_id]
        self._findings.add("orphans", ours)
        self._findings.add("foreign", [id_ for id_ in held if id_ not in ours])
        if not self._repair or not ours:
            return
        orphans: list[dict[str, Json]] = [{"id": id_, **held[id_].scope.argument} for id_ in ours]
        await self._step(statements.queue_deletes(orphans, self._embedder.config))
        self._findings.repaired += len(ours)

    async def _found_unreadable(self, ids: Sequence[str]) -> None:
        """Count vectors that are damaged, and make vectors again whose memories exist; the others are orphans."""
        if not ids:
            return
        self._findings.add("unreadable", ids)
        (rows,) = await self._step(statements.read_memories(ids))
        await self._embed_again(read_rows(UnindexedMemory, rows))

    async def _check_words(self) -> None:
        """Count the memories that the index of words lacks; as a repair, make this index again."""
        self._findings.words = await count_missing_words(self._steps)
        if self._findings.words and self._repair:
            await rebuild_words(self._steps, anew=True)

    async def _embed_again(self, memories: Sequence[UnindexedMemory]) -> None:
        """Embed memories, queue their vectors and send them; the indexer confirms them, or sends them again."""
        if not self._repair:
            return
        for ids in _batches(memories):
            (rows,) = await self._step(statements.read_contents(ids))
            contents = read_rows(Content, rows)
            if not contents:
                continue
            await self._rate_limiter.spend()
            embedded = await self._embedder.embed([memory.embedded_text for memory in contents], "document")
            vectors = {memory.id: encode(vector) for memory, vector in zip(contents, embedded.vectors, strict=True)}
            acknowledgements, self._acknowledgements = self._acknowledgements, []
            *_, queued = await self._step(
                *indexer_queue.write(acknowledgements),
                *statements.queue_upserts(vectors, self._embedder.config),
            )
            await self._send(read_rows(QueuedChange, queued))
            self._findings.repaired += len(queued)
            if self._checked is not None:
                self._checked += len(ids)
            self._report_progress()

    async def _send(self, changes: Sequence[QueuedChange]) -> None:
        if not changes:
            return
        await self._rate_limiter.spend()
        try:
            dimensions = self._embedder.config.dimensions
            at = await self._index.upsert([change.to_index(dimensions) for change in changes])
        except VectorRefused:  # the indexer finds out which vectors are refused
            return
        confirm_ms = int(self._index.confirm_seconds * 1000)
        self._acknowledgements = [
            Acknowledgement(change.key, "acknowledged", at, confirm_ms=confirm_ms) for change in changes
        ]

    async def _clear(self) -> None:
        while any(await self._run([statements.CLEAR_LISTED])):
            pass

    async def _step(self, *work: Statement) -> list[list[Row]]:
        """Renew the lease and run the statements; return their rows."""
        lease = statements.LEASE
        found, leased, *results = await self._run([lease.read(), lease.hold(self._holder), *work])
        for each in read_leases(found):
            log_void(each)
        if not leased:
            raise Conflict("Another process is comparing the index with the database.")
        return results

    async def _steps(self, run: Sequence[Statement]) -> list[list[Row]]:
        return await self._step(*run)

    async def _run(self, run: Sequence[Statement]) -> list[list[Row]]:
        await self._rate_limiter.spend()
        return await self._database.run(run)

    def _report_progress(self) -> None:
        listed, memories = self._findings.listed, self._memories
        if self._checked is None:
            self._report(Progress(min(listed, memories), 3 * memories, memories))
            return
        done = listed + min(self._checked, memories) + min(self._findings.compared, memories)
        self._report(Progress(done, listed + 2 * memories, memories))


def _batches(memories: Sequence[UnindexedMemory]) -> Iterator[list[str]]:
    """Group the ids of memories so that neither their number nor their content is too large for one call."""
    batch: list[str] = []
    size = 0
    for memory in memories:
        if batch and (len(batch) == MAX_BATCH or size + memory.bytes > _MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(memory.id)
        size += memory.bytes
    if batch:
        yield batch
