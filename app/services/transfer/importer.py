"""Stores memories that come from elsewhere, in batches, each under the rules of a store (docs/format.md)."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import structlog

from app.domain.embedding import EmbeddingConfigs
from app.domain.errors import Erasing, Unavailable
from app.domain.json_types import Json, to_json
from app.domain.memory import NewMemory, Scope
from app.indexing.delivery import deliver
from app.ports.database import Row, Statement
from app.ports.vector_index import IndexedVector
from app.services.backends import TenantBackends
from app.services.transfer.batch import Entry, candidates, judge, known, look_up
from app.services.transfer.export import RETRY_SECONDS
from app.services.transfer.lines import BadLineError
from app.services.transfer.queueing import queue
from app.services.transfer.reading import check
from app.services.transfer.record import Record
from app.services.transfer.report import Report
from app.services.transfer.retry_budget import RetryBudget
from app.storage import embedding_configs
from app.storage.batches import Bulk
from app.storage.outbox import encode
from app.storage.request_state import watch

_TRIES = 3
_BATCH_LINES = 200
_BATCH_BYTES = 800_000
_LINE_BYTES = 400
"""What a line takes in a statement beside its texts and its vector."""
_EMBED_TEXTS = 100
_EMBED_BYTES = 500_000


class Import:
    """One import into a tenant; with ``only_agent`` it takes nothing for another agent.

    Nothing is acknowledged before it is stored, and a batch is stored as a store is: should the process die, or a
    part fail, the same lines again find what was stored ``unchanged`` and go on from there.
    """

    def __init__(
        self,
        backends: TenantBackends,
        report: Report,
        *,
        only_agent: str | None = None,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Bind the tenant; what becomes of each line goes into the report."""
        self._tenant_id = backends.tenant_id
        self._backends = backends
        self._report = report
        self._only_agent = only_agent
        self._retry_budget = retry_budget or RetryBudget(RETRY_SECONDS)
        self._bulk = Bulk(backends.tenant_id)
        self._entries: list[Entry] = []
        self._bytes = 0
        self._vectors: list[IndexedVector] = []
        self._config = backends.configs.active
        """What the vectors that wait for the index were made with."""

    @property
    def tenant_id(self) -> str:
        """The tenant that is imported into."""
        return self._tenant_id

    async def begin(self) -> None:
        """Make sure that something could be imported.

        Raises:
            Erasing: the tenant, or the only agent, is being erased.
            EmbeddingConfigMismatch: the data was embedded with another config.
            Unavailable: the database does not answer.
        """
        agents = [] if self._only_agent is None else [self._only_agent]
        ((erasing,),) = await self._retry_budget.of(lambda: self._backends.database.run([self._bulk.erasing(agents)]))
        _check_erasing(erasing)
        await self._retry_budget.of(self._backends.claim)
        self._backends.embedder_of(self._used.active)

    async def add(self, line: int, record: Record, memory: NewMemory | None = None) -> None:
        """Take a memory, given also as a store takes it where it has been held against the limits already.

        It is stored with its batch. Raises as ``flush`` does.
        """
        try:
            memory = memory or check(record)
            self._check(record)
        except BadLineError as error:
            await self.reject(line, error.detail, error.id)
            return
        ids = candidates(self._tenant_id, record, memory)
        entry = Entry(line, record, memory, ids, record.id)
        size = len(to_json([record.content, memory.metadata_json, record.session_id]).encode())
        size += _LINE_BYTES + self._used.active.dimensions * 8 // 3
        if self._bytes + size > _BATCH_BYTES:
            await self.flush()
        await self._take(entry, size)

    async def reject(self, line: int, detail: str, id_: str | None = None) -> None:
        """Take a line that cannot be imported, to be reported in its place. Raises as ``flush`` does."""
        await self._take(Entry(line, told_id=id_, status="rejected", detail=detail), 0)

    async def flush(self) -> None:
        """Store what was taken and report it.

        Raises:
            Erasing: the tenant, or an agent of the batch, is being erased; nothing of that agent was stored.
            EmbeddingConfigMismatch: the data was embedded with another config; nothing of the batch was stored.
            Unavailable: a part does not answer; some of the batch may be stored, and importing it again is safe.
        """
        entries, self._entries, self._bytes = self._entries, [], 0
        asked = [entry for entry in entries if entry.status is None]
        # The index takes the last batch while this one is looked up and embedded.
        new, _ = await asyncio.gather(self._new(asked), self._deliver())
        if new:
            await self._store(new)
        for entry in entries:
            self._report.add(entry.line, entry.status or "rejected", id_=entry.told_id, detail=entry.detail)

    async def finish(self) -> None:
        """Store and report what is left, and bring the last vectors to the index. Raises as ``flush`` does."""
        await self.flush()
        await self._deliver()

    async def _new(self, asked: Sequence[Entry]) -> list[Entry]:
        """Settle what is there already, and return the others with their vectors."""
        if not asked:
            return []
        found = known(await self._retry_budget.of(lambda: self._backends.database.run(look_up(self._bulk, asked))))
        new = judge(asked, found)
        await self._embed(new)
        return new

    async def _take(self, entry: Entry, size: int) -> None:
        self._entries.append(entry)
        self._bytes += size
        if len(self._entries) == _BATCH_LINES:
            await self.flush()

    def _check(self, record: Record) -> None:
        if record.expires_at is not None and record.expires_at <= self._backends.clock():
            raise BadLineError("has expired", record.id)
        if self._only_agent is not None and record.agent_id != self._only_agent:
            raise BadLineError("is for another agent than may be imported into", record.id)

    async def _embed(self, entries: Sequence[Entry]) -> None:
        """Give each entry its vector: the one it came with, where it was made with the config in use."""
        config = self._used.active
        without: list[tuple[Entry, str]] = []
        for entry in entries:
            if entry.record is None:
                continue
            if entry.record.vector is not None and entry.record.embedding == config.label:
                entry.vector = entry.record.vector
            else:
                without.append((entry, entry.record.content))
        for group in _groups(without):
            texts = [text for _, text in group]
            started = time.perf_counter()
            embedded = await self._retry_budget.of(
                lambda texts=texts: self._backends.embedder_of(config).embed(texts, "document")  # type: ignore[misc]
            )
            structlog.get_logger().debug("embedded", texts=len(texts), seconds=time.perf_counter() - started)
            for (entry, _), vector in zip(group, embedded.vectors, strict=True):
                entry.vector, entry.embedded = vector, True

    @property
    def _used(self) -> EmbeddingConfigs:
        return self._backends.configs

    async def _store(self, entries: Sequence[Entry]) -> None:
        """Write a batch as one run, and keep its vectors for the index."""
        for _ in range(_TRIES):
            used, now = self._used, self._backends.clock()
            lines = _with_totals([_argument(entry, now) for entry in entries])
            full, queued, held, watched = await self._run(self._statements(lines, used, now))
            if embedding_configs.read(watched) == used:
                break
            if not watched["any_memory"]:
                await self._retry_budget.of(self._backends.claim)
            await self._embed(entries)
        else:
            raise Unavailable("The embedding config in use is just being changed. Import again.")
        for number, entry in enumerate(entries):
            _settle(entry, held.get(number), full=number in full)
        self._config = used.active
        self._vectors = self._to_deliver([entry for entry in entries if entry.status == "imported"], lines, queued)

    def _statements(self, lines: Sequence[Mapping[str, Json]], used: EmbeddingConfigs, now: int) -> list[Statement]:
        return [
            self._bulk.no_room(lines, self._backends.quotas),
            queue(self._tenant_id, lines, used, self._backends.quotas),
            self._bulk.insert(lines, used, self._backends.quotas),
            self._bulk.imported(lines, used.active, now=now),
            *([] if used.shadow is None else [self._bulk.leave_out(used)]),
            self._bulk.by_content(lines),
            self._bulk.erasing(sorted({str(line["agent_id"]) for line in lines})),
            watch(self._tenant_id),
        ]

    async def _run(self, run: Sequence[Statement]) -> tuple[set[int], list[Row], dict[int, str], Row]:
        """Make a batch's run.

        Return the lines there was no room for, what was queued, by line which id has the content now, and what it saw.
        """
        full, queued, *_, held, (erasing,), (watched,) = await self._retry_budget.of(
            lambda: self._backends.database.run(run)
        )
        self._backends.observe(watched)
        _check_erasing(erasing)
        by_line = {int(row["line"] or 0): str(row["id"]) for row in held}
        return {int(row["line"] or 0) for row in full}, queued, by_line, watched

    def _to_deliver(
        self, entries: Sequence[Entry], lines: Sequence[Mapping[str, Json]], queued: list[Row]
    ) -> list[IndexedVector]:
        """Return what the index may be told at once; what undoes a deletion is left to the indexer.

        A deletion under way may reach the index at any moment of its minute of grace; what is sent after it is safe.
        """
        revisions = {str(row["id"]): int(row["revision"] or 0) for row in queued}
        created = {str(line["id"]): int(str(line["created_at"])) for line in lines}
        return [
            IndexedVector(
                Scope(self._tenant_id, entry.record.agent_id),
                entry.id,
                entry.vector,
                created[entry.id],
                revisions[entry.id],
                entry.record.metadata,
            )
            for entry in entries
            if entry.record is not None and entry.vector is not None and entry.id in revisions and not entry.undoes
        ]

    async def _deliver(self) -> None:
        """Bring the last batch's vectors to the index; what fails is left to the indexer."""
        vectors, self._vectors = self._vectors, []
        if not vectors:
            return
        index, name = self._backends.index_of(self._config), self._config.index_name
        await deliver(index, name, vectors, self._backends.acknowledgements, first_time=True)


def _argument(entry: Entry, now: int) -> dict[str, Json]:
    """Return an entry as the statements read it."""
    record, memory, vector = entry.record, entry.memory, entry.vector
    assert record is not None and memory is not None and vector is not None  # noqa: PT018, S101 - judged to be new
    return {
        "agent_id": record.agent_id,
        "id": entry.id,
        "content": record.content,
        "content_hash": memory.content_hash,
        "segments": memory.segments,
        "metadata": memory.metadata_json,
        "session_id": record.session_id,
        "occurred_at": record.occurred_at,
        "created_at": now if record.created_at is None else record.created_at,
        "expires_at": record.expires_at,
        "vector": encode(vector),
        "deleted": entry.undoes,
        "embedded": entry.embedded,
    }


def _with_totals(lines: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """Say on each line how many memories and bytes it and those before it bring, of its agent and in all."""
    of: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        size = len(str(line["content"]).encode()) + len(str(line["metadata"]).encode())
        for scope, name in (("agent", str(line["agent_id"])), ("tenant", "")):
            of[name][0] += 1
            of[name][1] += size
            line[f"memories_of_{scope}"], line[f"bytes_of_{scope}"] = of[name]
    return list(lines)


def _settle(entry: Entry, holder: str | None, *, full: bool) -> None:
    """Say what became of an entry that was written, by the id that now has its content."""
    if holder == entry.id:
        entry.settle("imported")
    elif holder is not None:
        entry.settle("duplicate", f"the agent has this content as {holder}")
    elif full:
        entry.settle("rejected", "is over a limit of its agent or of the tenant (GET /usage)")
    else:
        entry.settle("rejected", "something else was done with this id meanwhile; import it again")


def _check_erasing(row: Row) -> None:
    if row["erasing"]:
        raise Erasing("The agent, or its tenant, is being erased. Import again once the erasure has its receipt.")


def _groups(texts: Sequence[tuple[Entry, str]]) -> Iterator[list[tuple[Entry, str]]]:
    """Group texts so that neither their number nor their size is too much for one call."""
    group: list[tuple[Entry, str]] = []
    size = 0
    for entry, text in texts:
        length = len(text.encode())
        if group and (len(group) == _EMBED_TEXTS or size + length > _EMBED_BYTES):
            yield group
            group, size = [], 0
        group.append((entry, text))
        size += length
    if group:
        yield group
