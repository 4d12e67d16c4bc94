"""Stores the memories of an import, in batches, each under the rules of a store (docs/format.md)."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

import structlog

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.explicit import permitted
from app.domain.json_types import to_json
from app.domain.memory import Memory, Tenant
from app.indexing.delivery import BATCH_SECONDS
from app.ports.database import Row
from app.ports.vector_index import IndexedVector, NewVector
from app.services.memories.write import Writer, audited
from app.services.memories.write_outcomes import WriteOutcome
from app.services.tenant.backends import EmbeddingConfigChanged, TenantBackends, settled
from app.services.transfer.batch import (
    BATCH_BYTES,
    MemoryImportLine,
    batches,
    candidates,
    existing,
    grouped,
    judge,
    look_up,
)
from app.services.transfer.lines import Line
from app.services.transfer.retry_budget import RetryBudget
from app.services.turns.turns import paced
from app.storage.batches import Bulk
from app.storage.memories import Batch, MemoryWrite
from app.storage.scoped import ScopedStatement

_WINDOW_LINE_BYTES = 1_600
"""How many bytes a line takes that waits to be stored, about: of longer lines fewer wait."""
_LINE_BYTES = 400
"""How many bytes a line takes in a statement beside its texts and its vectors."""
_EMBED_TEXTS = 100
_EMBED_BYTES = 500_000
_READ_AT_ONCE = 256
"""Characters that are read for words in one part of an import; the largest memory takes longest."""


class MemoryImport:
    """The memories of one import into a tenant.

    A batch is stored as a store is. Where the process dies or an upstream service fails, a second import of the same
    lines finds the stored memories ``unchanged`` and goes on from there.
    """

    most_agents = inf
    """Agents whose lines may be stored together at most."""

    def __init__(self, backends: TenantBackends, retry_budget: RetryBudget) -> None:
        """Bind the tenant."""
        self._backends = backends
        self._retry_budget = retry_budget
        self._vectors: list[IndexedVector] = []
        self._last_at = 0
        self._config = backends.data.configs.active
        """The config that made the vectors which wait for the index."""
        self._embedded_with = self._config
        """The config that made the vectors of the batch at hand."""

    def line(self, number: int, line: Line, *, moved: bool) -> MemoryImportLine:
        """Return the import line of a memory, with its size and its candidates."""
        record = line.record
        size = len(to_json([record.content, record.metadata_json, record.session_id]).encode())
        size += 0 if record.learned is None else len(record.learned.json.encode())
        size += _LINE_BYTES + sum(config.dimensions for config in self._backends.data.configs.configs) * 8 // 3
        ids = candidates(self._backends.tenant_id, record, moved=moved)
        return MemoryImportLine(
            number, record.id, agent_id=record.agent_id, size=size, moved=moved, record=record, candidates=ids
        )

    @property
    def most_bytes(self) -> int:
        """How many bytes of lines may wait to be stored together."""
        return max(BATCH_BYTES, self._backends.limits.import_window * _WINDOW_LINE_BYTES)

    async def store(self, lines: Sequence[MemoryImportLine]) -> None:
        """Settle each line, once its memory is stored or known to be there. Raises as ``Import.flush`` does."""
        self._date(lines)
        for batch in batches(lines, self._backends.limits.import_lines):
            # The index takes the last batch while this one is looked up and embedded.
            new, _ = await asyncio.gather(self._new(batch), self.deliver())
            if new:
                await settled(partial(self._store, new))

    async def deliver(self) -> None:
        """Bring the last batch's vectors to the index; the vectors that fail are left to the indexer."""
        vectors, self._vectors = self._vectors, []
        if not vectors:
            return
        await self._backends.admission.part()
        index, name = self._backends.data.index_of(self._config), self._config.index_name
        await self._backends.data.deliveries.deliver(index, name, vectors, first_time=True, wait_seconds=BATCH_SECONDS)

    def _date(self, lines: Sequence[MemoryImportLine]) -> None:
        """Give each line the moment when it is stored: in the whole file, a later line has a later moment."""
        first = self._backends.clock() - (len(lines) if len(lines) > self._backends.limits.import_lines else 0)
        for position, line in enumerate(lines):
            self._last_at = line.at = max(self._last_at + 1, first + position)

    async def _new(self, lines: Sequence[MemoryImportLine]) -> list[MemoryImportLine]:
        """Settle the lines whose memories are there already, and return the other lines with their vectors."""
        await self._backends.admission.part()
        new = judge(lines, existing(await self._run(look_up(Bulk(self._backends.tenant_id), lines))))
        await self._embed(new)
        return new

    async def _embed(self, lines: Sequence[MemoryImportLine]) -> None:
        """Give each line its vector: the vector of its record where the config in use made it, else a new vector."""
        config = self._backends.data.configs.active
        without: list[MemoryImportLine] = []
        for line in lines:
            line.embedded = line.record.vector is None or line.record.embedding != config.label
            line.vector = line.record.vector
            without.extend([line] if line.embedded else [])
        for group in grouped(without, _embedded_bytes, _EMBED_TEXTS, _EMBED_BYTES):
            texts = [line.record.embedded_text for line in group]
            await self._backends.admission.part()
            started = time.perf_counter()
            embedded = await self._retry_budget.of(
                lambda texts=texts: self._backends.models.embedder_of(config).embed(texts, "document")  # type: ignore[misc]
            )
            structlog.get_logger().debug("embedded", texts=len(texts), seconds=time.perf_counter() - started)
            for line, vector in zip(group, embedded.vectors, strict=True):
                line.vector = vector
        self._embedded_with = config

    async def _shadow_vectors(
        self, lines: Sequence[MemoryImportLine], shadow: EmbeddingConfig | None
    ) -> dict[str, Mapping[str, Vector]]:
        """Return the shadow's vectors of memories whose deletion is undone, by index name, by the memory's id.

        Queued, such a vector takes the place of the removal that the deletion has queued. Where it cannot be made it is
        copied later, as the vectors of all other memories of an import.
        """
        vectors: dict[str, Mapping[str, Vector]] = {}
        undone = [line for line in lines if line.undoes and shadow is not None]
        for group in grouped(undone, _embedded_bytes, _EMBED_TEXTS, _EMBED_BYTES):
            await self._backends.admission.part()
            made = await self._backends.models.shadow_vectors([line.record.embedded_text for line in group], shadow)
            vectors |= zip((line.stored_id for line in group), made, strict=True)
        return vectors

    async def _run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        return await self._retry_budget.of(lambda: self._backends.data.database.run(statements))

    async def _store(self, lines: Sequence[MemoryImportLine]) -> None:
        """Write a batch, and keep its vectors for the index.

        Raises:
            EmbeddingConfigChanged: another config is in use than was last seen; nothing was written.
        """
        if self._embedded_with != self._backends.data.configs.active:
            await self._embed(lines)
        used, now = self._backends.data.configs, self._backends.clock()
        if self._embedded_with != used.active:
            raise EmbeddingConfigChanged
        writes = await self._writes(lines, used.active, await self._shadow_vectors(lines, used.shadow))
        await self._backends.admission.part()
        batch = Batch(
            Tenant(self._backends.tenant_id),
            writes,
            used,
            now,
            self._backends.limits.quotas,
            self._backends.author,
            is_store=False,
        )
        index = self._backends.data.index_of(used.active)
        batch = replace(batch, insertions=index.insertions(_new_vectors(writes, used.active)))
        outcomes = await Writer(self._backends, self._run).write(batch)
        self._config = used.active
        for line, write, outcome in zip(lines, writes, outcomes, strict=True):
            _settle(line, outcome)
            revision = outcome.revisions.get(used.active.index_name)
            # A deletion under way may reach the index at any moment of its minute of grace: a vector that is sent after
            # it is safe, which is left to the indexer.
            if line.status == "imported" and revision is not None and not line.undoes:
                memory, vector = write.memory, write.vectors[used.active.index_name]
                indexed = IndexedVector(memory.scope, memory.id, vector, memory.created_at, revision, memory.metadata)
                self._vectors.append(indexed)
            line.vector = None  # many of the lines that were read with this line are yet to be stored

    async def _writes(
        self,
        lines: Sequence[MemoryImportLine],
        config: EmbeddingConfig,
        shadows: Mapping[str, Mapping[str, Vector]],
    ) -> list[MemoryWrite]:
        """Return the writes of lines whose memories are new; ``shadows``: further vectors, by the memory's id."""
        memories = ((line, line.record.memory(self._backends.tenant_id, line.stored_id, line.at)) for line in lines)
        writes = []
        async for line, memory in paced(memories, _characters, _READ_AT_ONCE, self._backends.admission.part):
            assert line.vector is not None  # noqa: S101 - each new line has a vector
            detail = audited(config) | {"embedded": line.embedded}
            stated = permitted(memory, self._backends.author)
            vectors = {config.index_name: line.vector, **shadows.get(memory.id, {})}
            writes.append(MemoryWrite(memory, vectors, detail, line.undoes, stated=stated))
        return writes


def _embedded_bytes(line: MemoryImportLine) -> int:
    return len(line.record.embedded_text.encode())


def _characters(made: tuple[MemoryImportLine, Memory]) -> int:
    """Return how many characters of a memory are read for words, which takes the time."""
    _, memory = made
    return len(memory.content) + len(memory.segments)


def _settle(line: MemoryImportLine, outcome: WriteOutcome) -> None:
    """Settle a line by the outcome of the write of its memory."""
    if outcome.holder == line.stored_id:
        line.settle("imported")
    elif outcome.holder is not None:
        line.settle("duplicate", f"the agent has this content as {outcome.holder}")
    elif outcome.full:
        line.settle("rejected", "is over a limit of its agent or of the tenant (GET /usage)")
    else:
        line.settle("rejected", "something else was done with this id meanwhile; import it again")


def _new_vectors(writes: Sequence[MemoryWrite], config: EmbeddingConfig) -> list[NewVector]:
    """Return the vectors that the run of the batch may write; a vector whose id is being deleted waits."""
    return [
        NewVector(
            write.memory.scope.agent_id, write.memory.id, write.memory.content_hash, write.vectors[config.index_name]
        )
        for write in writes
        if not write.undoes
    ]
