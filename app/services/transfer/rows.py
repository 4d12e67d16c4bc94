"""Stores the rows of an import, in batches of one table (docs/format.md)."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from app.domain import limits
from app.domain.errors import ContentTooLarge, DatabaseRejected, QuotaExceeded
from app.domain.json_types import Scalar, same_json, to_json
from app.domain.memory import Tenant
from app.ports.database import Row, RunRefused
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import write
from app.services.transfer.fields import BadLineError
from app.services.transfer.large_rows import LargeRows
from app.services.transfer.lines import Line, exported_row
from app.services.transfer.memory_ids import MemoryIds
from app.services.transfer.report import ImportLine
from app.services.transfer.retry_budget import RetryBudget
from app.storage.tiers.episodic import Episodic
from app.storage.tiers.rows import TierRows
from app.storage.tiers.tables import TierTable


@dataclass(slots=True, kw_only=True)
class RowImportLine(ImportLine):
    """A line with a row of a tier."""

    line: Line
    stored: Mapping[str, Scalar] | None = None
    """The row as it is to be written, with its large values as blobs; None: as the line has it."""
    missing: bool = False
    """Whether the parent of the row is missing."""


class RowImport:
    """The rows of one import into a tenant.

    A row is written where its key is free, and never replaces another row. Rows that were written before an import was
    cut off are ``unchanged`` in the next import.
    """

    most_agents = 50
    """Agents whose lines may be stored together at most: each agent is checked for an erasure under way."""
    most_bytes = 800_000

    def __init__(self, backends: TenantBackends, retry_budget: RetryBudget, *, only_agent: str | None) -> None:
        """Bind the tenant and the arguments of ``Import``."""
        self._backends = backends
        self._retry_budget = retry_budget
        self._large = LargeRows(backends)
        self._memory_ids = MemoryIds(backends, retry_budget)
        self._only_agent = only_agent
        self._refused_bytes: dict[str | None, int] = {}

    def line(self, number: int, line: Line, *, moved: bool) -> RowImportLine:
        """Return the import line of a row, with its size."""
        size = len(to_json(dict(line.row)).encode())
        return RowImportLine(number, line.id, agent_id=line.agent_id, size=size, moved=moved, line=line)

    async def store(self, lines: Sequence[RowImportLine]) -> None:
        """Settle each line, all of one table, once its row is stored or known to be there.

        Raises:
            Erasing: the tenant, or an agent of the batch, is being erased; nothing more of the batch was stored.
            Unauthenticated: the credential was revoked; nothing more was stored.
            Unavailable: the database does not answer; importing again is safe.
        """
        await self._backends.admission.part()
        if lines[0].line.table.memories:
            renamed = await self._memory_ids.renamed([(line.line, line.moved) for line in lines])
            for line, named in zip(lines, renamed, strict=True):
                line.line = named
        async with AsyncExitStack() as values:
            for line in lines:
                if self._large.has(line.line.table, line.line.row):
                    await self._keep_large(line, values)
            await self._store([line for line in lines if line.status is None])

    async def _keep_large(self, line: RowImportLine, values: AsyncExitStack) -> None:
        """Put the large values of a new row into the object store; settle the line of another row."""
        table, row = line.line.table, line.line.row
        known = TierRows(self._backends.tenant_id, table).known([row])
        there = await self._retry_budget.rows(self._backends.data.database, known)
        if there:
            whole = await self._retry_budget.of(lambda: self._large.whole(table, there[0]))
            _settle(line, exported_row(table, whole.row), None)
            return
        try:
            line.stored = await values.enter_async_context(self._large.stored(table, row))
        except (BadLineError, ContentTooLarge, QuotaExceeded) as refusal:
            line.settle("rejected", refusal.detail)

    async def _store(self, lines: Sequence[RowImportLine]) -> None:
        """Write rows. Where a row is refused, the other rows are written without it."""
        lines = await self._of_own_parents([line for line in lines if not self._is_over(line)])
        if not lines:
            return
        try:
            before, after = await self._write(lines)
        except (QuotaExceeded, DatabaseRejected) as refusal:
            if len(lines) == 1:
                self._refuse(lines[0], refusal)
                return
            middle = len(lines) // 2
            await self._store(lines[:middle])
            await self._store(lines[middle:])
            return
        for line in lines:
            key = line.line.key
            _settle(line, before.get(key), after.get(key))
            before.setdefault(key, after.get(key, {}))  # the same key again is no new row

    def _is_over(self, line: RowImportLine) -> bool:
        """Reject a row that is no smaller than a row of its agent which was over a quota; tell whether it is so."""
        refused_bytes = self._refused_bytes.get(line.agent_id)
        if refused_bytes is None or line.size < refused_bytes:
            return False
        line.settle("rejected", "is over a limit of bytes, as a row before it")
        return True

    def _refuse(self, line: RowImportLine, refusal: QuotaExceeded | DatabaseRejected) -> None:
        if isinstance(refusal, QuotaExceeded):
            self._refused_bytes[line.agent_id] = line.size
            line.settle("rejected", refusal.detail)
            return
        why = f" ({refusal.reason})" if isinstance(refusal, RunRefused) else ""
        line.settle("rejected", f"its table does not take the row{why}")

    async def _of_own_parents(self, lines: Sequence[RowImportLine]) -> Sequence[RowImportLine]:
        """Reject runs whose parents are runs of other agents, whose logs they would change; return the other lines."""
        ids = sorted({str(parent) for line in lines if (parent := line.line.value("parent_run_id"))})
        if self._only_agent is None or not ids:
            return lines
        statement = Episodic(self._backends.tenant_id).of_others(ids, self._only_agent)
        others = {row["id"] for row in await self._retry_budget.rows(self._backends.data.database, statement)}
        for line in lines:
            if line.line.value("parent_run_id") in others:
                line.settle("rejected", "parent_run_id is a run of another agent than may be imported into")
        return [line for line in lines if line.status is None]

    async def _write(self, lines: Sequence[RowImportLine]) -> tuple["_Rows", "_Rows"]:
        """Write rows, and return the tenant's rows with their keys from before and after the write."""
        table, tenant_id = lines[0].line.table, self._backends.tenant_id
        rows = TierRows(tenant_id, table)
        given = [line.line.row for line in lines]
        stored = [line.line.row if line.stored is None else line.stored for line in lines]
        agents = sorted({line.agent_id for line in lines if line.agent_id})
        statements = [rows.known(given), rows.insert(stored, self._most(table)), rows.known(given)]
        if table.parent is not None:
            statements.insert(0, rows.orphans(given))
        results = await self._retry_budget.of(
            lambda: write(self._backends, Tenant(tenant_id), statements, kind="import", agents=agents)
        )
        before, _, after = results[-3:]
        for orphan in results[0] if table.parent is not None else ():
            lines[int(orphan["place"] or 0)].missing = True
        return _by_key(table, before), _by_key(table, after)

    def _most(self, table: TierTable) -> list[int]:
        """Return the number that each limit of the table allows."""
        of_tenant = {"TENANT_EPISODES": self._backends.limits.tenant_episodes}
        names = [limit.name for limit in table.limits]
        return [of_tenant[name] if name in of_tenant else getattr(limits, name) for name in names]


_Rows = dict[tuple[Scalar, ...], Mapping[str, Scalar]]


def _by_key(table: TierTable, rows: Sequence[Row]) -> _Rows:
    return {tuple(row[column] for column in table.key): row for row in (exported_row(table, row) for row in rows)}


def _settle(line: RowImportLine, before: Mapping[str, Scalar] | None, after: Mapping[str, Scalar] | None) -> None:
    """Settle a line by the rows that its key had before and after the write."""
    table = line.line.table
    if before is not None and same_json(before, line.line.row):
        line.settle("unchanged")
    elif before is not None:
        line.settle("conflict", "another row has this key")
    elif after is not None:
        line.settle("imported")
    elif line.missing and table.parent is not None:
        line.settle("rejected", table.parent.missing)
    elif table.limits:
        line.settle("rejected", table.over)  # no value but the key is unique in these tables, except of turns
    else:
        line.settle("conflict", "another row has what only one may have")
