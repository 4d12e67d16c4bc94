"""Stores memories that come from elsewhere, in batches, each under the rules of a store (docs/format.md)."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import structlog

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import Erasing
from app.domain.json_types import to_json
from app.domain.memory import Tenant
from app.indexing.delivery import BATCH_SECONDS
from app.ports.database import Row
from app.ports.vector_index import IndexedVector, NewVector
from app.services.memories.write import Writer
from app.services.tenant.backends import EmbeddingConfigChanged, TenantBackends, settled
from app.services.transfer.batch import BATCH_BYTES, ImportLine, batches, candidates, judge, known, look_up
from app.services.transfer.export import RETRY_SECONDS
from app.services.transfer.lines import BadLineError, RowLine
from app.services.transfer.record import Record
from app.services.transfer.report import ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.services.transfer.rows import RowImport
from app.services.transfer.storing import settle, to_store
from app.storage.batches import Bulk
from app.storage.erasures import Erasures
from app.storage.memories import Batch, MemoryWrite
from app.storage.scoped import ScopedStatement

_WINDOW_LINE_BYTES = 1_600
"""What a line that is read before it is written takes, about: of longer ones fewer are read."""
_REPORTED_AT_ONCE = 200
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
        report: ImportReport,
        *,
        only_agent: str | None = None,
        to_agent: str | None = None,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Bind the tenant; what becomes of each line goes into the report.

        Every memory becomes ``to_agent``'s, where that is given, whatever agent its line names.
        """
        self._tenant_id = backends.tenant_id
        self._backends = backends
        self._report = report
        self._only_agent = only_agent
        self._to_agent = to_agent
        self._retry_budget = retry_budget or RetryBudget(RETRY_SECONDS)
        self._bulk = Bulk(backends.tenant_id)
        self._rows = RowImport(backends, report, self._retry_budget, only_agent=only_agent, to_agent=to_agent)
        self._entries: list[ImportLine] = []
        self._bytes = 0
        self._in_order, self._last_id = True, ""
        self._vectors: list[IndexedVector] = []
        self._last_at = 0
        self._config = backends.data.configs.active
        """What the vectors that wait for the index were made with."""
        self._embedded_with = self._config
        """What the vectors of the batch at hand were made with."""

    @property
    def tenant_id(self) -> str:
        """The tenant that is imported into."""
        return self._tenant_id

    async def part(self) -> None:
        """Wait until the import may go on for some milliseconds."""
        await self._backends.admission.part()

    async def begin(self) -> None:
        """Make sure that something could be imported.

        Raises:
            Erasing: the tenant, or the only agent, is being erased.
            EmbeddingConfigMismatch: the data was embedded with another config.
            Unavailable: the database does not answer.
        """
        under_way = Erasures(self._tenant_id).under_way(self._to_agent or self._only_agent)
        (running,) = await self._run([under_way])
        if running:
            raise Erasing("The agent, or its tenant, is being erased. Import again once the erasure has its receipt.")
        await self._retry_budget.of(self._backends.data.claim)
        self._backends.models.embedder_of(self._used.active)

    async def add(self, line: int, record: Record) -> None:
        """Take a memory that is within the limits of a store.

        It is stored with its batch. Raises as ``flush`` does.
        """
        try:
            self._check(record)
        except BadLineError as error:
            await self.reject(line, error.detail, error.id)
            return
        moved = False
        if self._to_agent is not None and record.agent_id != self._to_agent:
            moved, record = True, replace(record, agent_id=self._to_agent)
        await self._rows.flush()
        ids = candidates(self._tenant_id, record, moved=moved)
        entry = ImportLine(line, record, ids, record.id, moved=moved)
        size = len(to_json([record.content, record.metadata_json, record.session_id]).encode())
        if record.learned is not None:
            size += len(record.learned.json.encode())
        size += _LINE_BYTES + self._used.active.dimensions * 8 // 3
        if self._bytes + size > max(BATCH_BYTES, self._backends.limits.import_window * _WINDOW_LINE_BYTES):
            await self.flush()
        entry.size = size
        await self._take(entry, size)

    async def add_row(self, line: int, row: RowLine) -> None:
        """Take a row of a tier, which is stored behind the memories before it. Raises as ``flush`` does."""
        if self._entries:
            await self.flush()
        await self._rows.add(line, row)

    async def reject(self, line: int, detail: str, id_: str | None = None, *, times: int = 1) -> None:
        """Take a line that cannot be imported, to be reported in its place. Raises as ``flush`` does.

        ``times``: how many lines in a row this says of, the first of which it is.
        """
        listed = min(times, self._report.listable)
        for number in range(line, line + listed):
            if self._rows.waiting:
                await self._rows.reject(number, detail, id_)
            else:
                await self._take(ImportLine(number, told_id=id_, status="rejected", detail=detail), 0)
        self._report.count_rejected(times - listed)

    async def flush(self) -> None:
        """Store what was taken and report it.

        Raises:
            Erasing: the tenant, or an agent of the batch, is being erased; nothing of that agent was stored.
            EmbeddingConfigMismatch: the data was embedded with another config; nothing of the batch was stored.
            Unavailable: a part does not answer; some of the batch may be stored, and importing it again is safe.
        """
        await self._rows.flush()
        entries, self._entries, self._bytes = self._entries, [], 0
        self._in_order, self._last_id = True, ""
        self._date(entries)
        for asked in batches([entry for entry in entries if entry.status is None], self._backends.limits.import_lines):
            # The index takes the last batch while this one is looked up and embedded.
            new, _ = await asyncio.gather(self._new(asked), self._deliver())
            if new:
                await settled(partial(self._store, new))
        for position, entry in enumerate(entries, 1):
            if position % _REPORTED_AT_ONCE == 0:
                await self.part()
            self._report.add(
                entry.number,
                entry.status or "rejected",
                id_=entry.told_id,
                detail=entry.detail,
                agent_id=None if entry.record is None else entry.record.agent_id,
            )

    async def finish(self) -> None:
        """Store and report what is left, and bring the last vectors to the index. Raises as ``flush`` does."""
        await self.flush()
        await self._deliver()

    def _date(self, entries: Sequence[ImportLine]) -> None:
        """Give each entry the moment when it is stored: of two the later in the file is the newer, in all of it."""
        first = self._backends.clock() - (len(entries) if len(entries) > self._backends.limits.import_lines else 0)
        for position, entry in enumerate(entries):
            self._last_at = entry.at = max(self._last_at + 1, first + position)

    async def _new(self, asked: Sequence[ImportLine]) -> list[ImportLine]:
        """Settle what is there already, and return the others with their vectors."""
        if not asked:
            return []
        await self.part()
        new = judge(asked, known(await self._run(look_up(self._bulk, asked))))
        await self._embed(new)
        return new

    async def _take(self, entry: ImportLine, size: int) -> None:
        self._entries.append(entry)
        self._bytes += size
        if entry.candidates:
            self._in_order &= self._last_id <= entry.candidates[0]
            self._last_id = entry.candidates[0]
        # Lines that come in the order of their ids, as an export has them, gain nothing from others behind them.
        if len(self._entries) == (
            self._backends.limits.import_lines if self._in_order else self._backends.limits.import_window
        ):
            await self.flush()

    def _check(self, record: Record) -> None:
        if record.expires_at is not None and record.expires_at <= self._backends.clock():
            raise BadLineError("has expired", record.id)
        if self._only_agent is not None and record.agent_id != self._only_agent:
            raise BadLineError("is for another agent than may be imported into", record.id)

    async def _embed(self, entries: Sequence[ImportLine]) -> None:
        """Give each entry its vector: the one it came with, where it was made with the config in use."""
        config = self._used.active
        without: list[tuple[ImportLine, str]] = []
        for entry in entries:
            if entry.record is None:
                continue
            if entry.record.vector is not None and entry.record.embedding == config.label:
                entry.vector, entry.embedded = entry.record.vector, False
            else:
                without.append((entry, entry.record.embedded_text))
        for group in _groups(without):
            texts = [text for _, text in group]
            await self.part()
            started = time.perf_counter()
            embedded = await self._retry_budget.of(
                lambda texts=texts: self._backends.models.embedder_of(config).embed(texts, "document")  # type: ignore[misc]
            )
            structlog.get_logger().debug("embedded", texts=len(texts), seconds=time.perf_counter() - started)
            for (entry, _), vector in zip(group, embedded.vectors, strict=True):
                entry.vector, entry.embedded = vector, True
        self._embedded_with = config

    @property
    def _used(self) -> EmbeddingConfigs:
        return self._backends.data.configs

    async def _run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        return await self._retry_budget.of(lambda: self._backends.data.database.run(statements))

    async def _store(self, entries: Sequence[ImportLine]) -> None:
        """Write a batch, and keep its vectors for the index.

        Raises:
            EmbeddingConfigChanged: another config is in use than was last seen; nothing was written.
        """
        if self._embedded_with != self._used.active:
            await self._embed(entries)
        used, now = self._used, self._backends.clock()
        if self._embedded_with != used.active:
            raise EmbeddingConfigChanged
        lines = [line async for line in to_store(self._backends, entries, used.active)]
        await self.part()
        batch = Batch(
            Tenant(self._tenant_id),
            lines,
            used,
            now,
            self._backends.limits.quotas,
            self._backends.author,
            is_store=False,
        )
        index = self._backends.data.index_of(used.active)
        batch = replace(batch, insertions=index.insertions(_new_vectors(lines, used.active)))
        outcomes = await Writer(self._backends, self._run).write(batch)
        self._config = used.active
        for entry, line, outcome in zip(entries, lines, outcomes, strict=True):
            settle(entry, outcome)
            revision = outcome.revisions.get(used.active.index_name)
            # A deletion under way may reach the index at any moment of its minute of grace: what is sent after it is
            # safe, and left to the indexer.
            if entry.status == "imported" and revision is not None and not entry.undoes:
                memory, vector = line.memory, line.vectors[used.active.index_name]
                indexed = IndexedVector(memory.scope, memory.id, vector, memory.created_at, revision, memory.metadata)
                self._vectors.append(indexed)
            entry.vector = None  # of the lines that were read with it, many are yet to be stored

    async def _deliver(self) -> None:
        """Bring the last batch's vectors to the index; what fails is left to the indexer."""
        vectors, self._vectors = self._vectors, []
        if not vectors:
            return
        await self.part()
        index, name = self._backends.data.index_of(self._config), self._config.index_name
        await self._backends.data.deliveries.deliver(
            index, name, vectors, self._backends.data.acknowledgements, first_time=True, wait_seconds=BATCH_SECONDS
        )


def _new_vectors(lines: Sequence[MemoryWrite], config: EmbeddingConfig) -> list[NewVector]:
    """Return the vectors that the run of the lines may write; those of a deletion under way wait for its end."""
    return [
        NewVector(line.memory.scope.agent_id, line.memory.id, line.memory.content_hash, line.vectors[config.index_name])
        for line in lines
        if not line.undoes
    ]


def _groups(texts: Sequence[tuple[ImportLine, str]]) -> Iterator[list[tuple[ImportLine, str]]]:
    """Group texts so that neither their number nor their size is too much for one call."""
    group: list[tuple[ImportLine, str]] = []
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
