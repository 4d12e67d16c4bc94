"""What a tenant has, as lines, page by page: deterministic, and no more than a page of it in memory."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from app.domain.embedding import EmbeddingConfig, Vector, decode, lengths
from app.domain.json_types import Scalar
from app.domain.memory import Memory, Tenant
from app.ports.database import Row
from app.services.tenant.backends import TenantBackends
from app.services.transfer.large_rows import LargeRows
from app.services.transfer.lines import (
    Manifest,
    Total,
    held,
    write_end,
    write_manifest,
    write_memory,
    write_row,
)
from app.services.transfer.record import Record
from app.services.transfer.retry_budget import RetryBudget
from app.services.turns.turns import paced
from app.storage.batches import BEFORE_ALL, PAGE_ROWS, Bulk
from app.storage.outbox import waiting
from app.storage.rows import read_memory
from app.storage.tiers import rows as tier_rows
from app.storage.tiers.tables import TIER_TABLES, TierTable

RETRY_SECONDS = 60.0
"""How long a transfer over HTTP may wait in all for calls to be let through."""
_LARGE_AT_ONCE = 8
"""Rows whose large values are read at once, and are in memory together."""
_CHARACTERS_AT_ONCE = 32 * 1024
"""Of lines that are written before the event loop goes on: one or two milliseconds."""
_OF_A_LINE = 2000
"""What a line takes beside its content, counted as characters; most of it is its vector."""


class Export:
    """One export of a tenant, or of one of its agents. What was stored after it began may be left out."""

    def __init__(
        self,
        backends: TenantBackends,
        *,
        agent_id: str | None = None,
        vectors: bool = False,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Bind the tenant; ``vectors`` says whether the lines carry them."""
        self._tenant_id = backends.tenant_id
        self._backends = backends
        self._agent_id = agent_id
        self._vectors = vectors
        self._retry_budget = retry_budget or RetryBudget(RETRY_SECONDS)
        self._bulk = Bulk(backends.tenant_id, agent_id)
        self._config = backends.data.configs.active
        self._large = LargeRows(backends)
        self.total = Total()
        self.memories = 0
        """How many there were when it began."""
        self.agents: set[str] = set()
        """Those whose lines were yielded, or who are named in them."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield whole lines: the manifest, the memories by time and id, rows by kind and key, and the closing line.

        Raises:
            Unavailable: a part does not answer; without its closing line what was yielded is no export.
        """
        (rows,) = await self._retry_budget.of(lambda: self._backends.data.database.run([self._bulk.survey()]))
        self.memories = sum(int(row["memories"] or 0) for row in rows)
        labels = [_config(row).label for row in rows]
        manifest = write_manifest(Manifest(self._tenant_id, self._agent_id, self.memories, labels, self._vectors))
        if rows:
            last = max(int(row["last"] or 0) for row in rows)
            async for page in self._pages(last, int(rows[0]["now"] or 0)):
                yield manifest + await self._lines(page)
                manifest = b""
        for tier in TIER_TABLES:
            if tier.travels and (tier.of_agent or self._agent_id is None):
                async for page in self._row_pages(tier):
                    async for lines in self._row_lines(tier, page):
                        yield manifest + lines
                        manifest = b""
        yield manifest + write_end(self.total)

    async def _row_pages(self, tier: TierTable) -> AsyncIterator[list[Row]]:
        rows_of, after = tier_rows.TierRows(self._tenant_id, tier, self._agent_id), None
        while True:
            statement = rows_of.page(after)
            await self._backends.admission.part()
            (rows,) = await self._retry_budget.of(lambda page=statement: self._backends.data.database.run([page]))  # type: ignore[misc]
            if not rows:
                return
            self.agents |= {str(row["agent_id"]) for row in rows if row.get("agent_id")}
            yield rows
            if len(rows) == int(rows[0]["found"] or 0) < tier_rows.PAGE_ROWS:
                return
            after = [rows[-1][column] for column in tier.key]

    async def _row_lines(self, tier: TierTable, page: Sequence[Row]) -> AsyncIterator[bytes]:
        at_once = _LARGE_AT_ONCE if any(row[each.blob] for row in page for each in tier.large) else len(page)
        for start in range(0, len(page), at_once):
            lines: list[bytes] = []
            rows = await asyncio.gather(*(self._whole(tier, row) for row in page[start : start + at_once]))
            async for row in paced(rows, _row_weight, _CHARACTERS_AT_ONCE, self._backends.admission.part):
                line, digest = write_row(tier, held(tier, row))
                self.total.add_row(digest)
                lines.append(line)
            yield b"".join(lines)

    async def _whole(self, tier: TierTable, row: Row) -> Mapping[str, Scalar]:
        if not any(row[each.blob] for each in tier.large):
            return row
        return await self._retry_budget.of(lambda: self._large.whole(tier, row))

    async def _pages(self, last: int, now: int) -> AsyncIterator[list[Row]]:
        after = BEFORE_ALL
        while True:
            statement = self._bulk.page(after, last=last, now=now)
            await self._backends.admission.part()
            (rows,) = await self._retry_budget.of(lambda page=statement: self._backends.data.database.run([page]))  # type: ignore[misc]
            if not rows:
                return
            self.agents |= {str(row["agent_id"]) for row in rows}
            yield rows
            if len(rows) == int(rows[0]["found"] or 0) < PAGE_ROWS:
                return
            after = (int(rows[-1]["created_at"] or 0), str(rows[-1]["id"]))

    async def _lines(self, page: Sequence[Row]) -> bytes:
        vectors = await self._vectors_of(page) if self._vectors else {}
        lines: list[bytes] = []
        async for row in paced(page, _weight, _CHARACTERS_AT_ONCE, self._backends.admission.part):
            memory = read_memory(self._tenant_id, row)
            line, digest = write_memory(record_of(memory, vectors.get(memory.id), self._config))
            self.total.add(digest)
            lines.append(line)
        return b"".join(lines)

    async def _vectors_of(self, page: Sequence[Row]) -> Mapping[str, Vector]:
        """Find the vectors of the config in use; a memory whose vector nobody shows now goes without."""
        config = self._config
        wanted = {str(row["id"]): str(row["agent_id"]) for row in page}
        await self._backends.admission.part()
        index = self._backends.data.index_of(config)
        shown = await self._retry_budget.of(lambda: index.vectors(self._tenant_id, list(wanted)))
        missing = [(agent_id, id_) for id_, agent_id in wanted.items() if id_ not in shown]
        if not missing:
            return shown
        statement = waiting(Tenant(self._tenant_id), missing, config.index_name)
        (queued,) = await self._retry_budget.of(lambda: self._backends.data.database.run([statement]))
        readable = [row for row in queued if len(str(row["vector"])) in lengths(config.dimensions)]
        return {**shown, **{str(row["id"]): decode(str(row["vector"]), config.dimensions) for row in readable}}


def _weight(row: Row) -> int:
    return _OF_A_LINE + len(str(row["content"]))


def _row_weight(row: Mapping[str, Scalar]) -> int:
    return _OF_A_LINE + sum(len(value) for value in row.values() if isinstance(value, str))


def _config(row: Row) -> EmbeddingConfig:
    return EmbeddingConfig(str(row["provider"]), str(row["model"]), int(row["dimensions"] or 0))


def record_of(memory: Memory, vector: Vector | None, config: EmbeddingConfig) -> Record:
    """Return what a line says of a memory, with its vector of the config, where there is one."""
    return Record(
        agent_id=memory.agent_id,
        content=memory.content,
        metadata=memory.metadata,
        id=memory.id,
        session_id=memory.session_id,
        occurred_at=memory.occurred_at,
        created_at=memory.created_at,
        expires_at=memory.expires_at,
        superseded_at=memory.superseded_at,
        forgotten_at=memory.forgotten_at,
        message_id=memory.message_id,
        memory_type=None if memory.learned is None else memory.type,
        learned=memory.learned,
        run_id=memory.run_id,
        vector=vector,
        embedding=None if vector is None else config.label,
    )
