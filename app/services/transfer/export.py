"""Exports a tenant's data as lines, page by page: deterministic, and with at most a page in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from app.domain.embedding import EmbeddingConfig, Vector, decode, lengths
from app.domain.json_types import Scalar
from app.domain.memory import Tenant
from app.ports.database import Row
from app.services.tenant.backends import TenantBackends
from app.services.transfer.large_rows import LargeRows, WholeRow
from app.services.transfer.lines import Line, Manifest, Total, memory_line, row_line
from app.services.transfer.record import Record
from app.services.transfer.retry_budget import RetryBudget
from app.services.turns.turns import paced
from app.storage.batches import MEMORIES, Bulk
from app.storage.outbox import waiting
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement
from app.storage.tiers import rows as tier_rows
from app.storage.tiers.tables import TIER_TABLES, TierTable

RETRY_SECONDS = 60.0
"""How many seconds a transfer over HTTP may wait in all to repeat calls that were refused for their number."""
_LARGE_AT_ONCE = 8
"""Rows whose large values are read at once, and are in memory together."""
_CHARACTERS_AT_ONCE = 32 * 1024
"""Characters of lines that are written before the event loop goes on, which takes one or two milliseconds."""
_OF_A_LINE = 2000
"""The work for a line beside its texts, counted as characters; for a memory most of it is the vector."""


class Export:
    """One export of a tenant, or of one of its agents. Data stored after its start may be left out."""

    def __init__(
        self,
        backends: TenantBackends,
        *,
        agent_id: str | None = None,
        vectors: bool = False,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Bind the tenant; ``vectors`` says whether the lines have vectors."""
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
        """How many memories there were when the export began."""
        self.agents: set[str] = set()
        """The agents whose lines were yielded, or that these lines name."""
        self.lost = 0
        """How many large values could not be read, so that a line has a pointer in their place."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield whole lines: the manifest, the memories by time and id, rows by kind and key, and the closing line.

        Raises:
            Unavailable: an upstream service does not answer; lines without a closing line are no export.
        """
        survey = await self._rows(self._bulk.survey())
        self.memories = sum(int(row["memories"] or 0) for row in survey)
        labels = [config.label for config in read_rows(EmbeddingConfig, survey)]
        before = Manifest(self._tenant_id, self._agent_id, self.memories, labels, self._vectors).data
        async for lines in self._lines(survey):
            yield before + lines
            before = b""
        yield before + self.total.end.data

    async def _lines(self, survey: Sequence[Row]) -> AsyncIterator[bytes]:
        if survey:
            async for lines in self._memories_of(survey):
                yield lines
        for tier in TIER_TABLES:
            if tier.travels and (tier.of_agent or self._agent_id is None):
                async for lines in self._rows_of(tier):
                    yield lines

    async def _memories_of(self, survey: Sequence[Row]) -> AsyncIterator[bytes]:
        last, now = max(int(row["last"] or 0) for row in survey), int(survey[0]["now"] or 0)
        async for page in self._pages(MEMORIES, partial(self._bulk.page, last=last, now=now)):
            vectors = await self._vectors_of(page) if self._vectors else {}
            yield await self._written(self._memory(row, vectors) for row in page)

    async def _rows_of(self, tier: TierTable) -> AsyncIterator[bytes]:
        of_rows = tier_rows.TierRows(self._tenant_id, tier, self._agent_id).page
        async for page in self._pages(tier, of_rows):
            at_once = _LARGE_AT_ONCE if any(row[large.blob] for row in page for large in tier.large) else len(page)
            for start in range(0, len(page), at_once):
                rows = await asyncio.gather(*(self._whole(tier, row) for row in page[start : start + at_once]))
                self._note_lost(tier, [blob_id for whole in rows for blob_id in whole.lost])
                yield await self._written(row_line(tier, whole.row) for whole in rows)

    async def _pages(
        self, table: TierTable, page: Callable[[Sequence[Scalar] | None], ScopedStatement]
    ) -> AsyncIterator[list[Row]]:
        after: Sequence[Scalar] | None = None
        while True:
            await self._backends.admission.part()
            rows = await self._rows(page(after))
            if not rows:
                return
            self.agents |= {str(row["agent_id"]) for row in rows if row.get("agent_id")}
            yield rows
            if len(rows) == int(rows[0]["found"] or 0) < tier_rows.PAGE_ROWS:
                return
            after = [rows[-1][column] for column in table.key]

    async def _written(self, lines: Iterable[Line]) -> bytes:
        written: list[bytes] = []
        async for line in paced(lines, _weight, _CHARACTERS_AT_ONCE, self._backends.admission.part):
            self.total.add(line)
            written.append(line.data)
        return b"".join(written)

    def _memory(self, row: Row, vectors: Mapping[str, Vector]) -> Line:
        record = read_row(Record, row)
        if (vector := vectors.get(str(record.id))) is not None:
            record = replace(record, vector=vector, embedding=self._config.label)
        return memory_line(record)

    async def _whole(self, tier: TierTable, row: Row) -> WholeRow:
        return await self._retry_budget.of(lambda: self._large.whole(tier, row))

    def _note_lost(self, tier: TierTable, blobs: Sequence[str]) -> None:
        if blobs:
            self.lost += len(blobs)
            structlog.get_logger().warning("export_lacks_values", tenant=self._tenant_id, kind=tier.kind, blobs=blobs)

    async def _rows(self, statement: ScopedStatement) -> list[Row]:
        return await self._retry_budget.rows(self._backends.data.database, statement)

    async def _vectors_of(self, page: Sequence[Row]) -> Mapping[str, Vector]:
        """Return the vectors of the config in use, as far as the index or the outbox has them now."""
        config = self._config
        wanted = {str(row["id"]): str(row["agent_id"]) for row in page}
        await self._backends.admission.part()
        index = self._backends.data.index_of(config)
        shown = await self._retry_budget.of(lambda: index.vectors(self._tenant_id, list(wanted)))
        missing = [(agent_id, id_) for id_, agent_id in wanted.items() if id_ not in shown]
        if not missing:
            return shown
        queued = await self._rows(waiting(Tenant(self._tenant_id), missing, config.index_name))
        readable = [row for row in queued if len(str(row["vector"])) in lengths(config.dimensions)]
        return {**shown, **{str(row["id"]): decode(str(row["vector"]), config.dimensions) for row in readable}}


def _weight(line: Line) -> int:
    texts = [line.record.content] if line.is_memory else line.row.values()
    return _OF_A_LINE + sum(len(text) for text in texts if isinstance(text, str))
