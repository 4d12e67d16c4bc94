"""Stores rows of the tiers that come from elsewhere, in batches of one kind (docs/format.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain import limits
from app.domain.errors import ContentTooLarge, DatabaseRejected, QuotaExceeded
from app.domain.json_types import Scalar, to_json
from app.domain.memory import Tenant
from app.ports.database import Row, RunRefused
from app.services.tenant.backends import TenantBackends
from app.services.tiers.writing import write
from app.services.transfer.large_rows import KeptRow, LargeRows
from app.services.transfer.lines import BadLineError, RowLine, held, same
from app.services.transfer.memory_ids import MemoryIds
from app.services.transfer.report import ImportReport, Status
from app.services.transfer.retry_budget import RetryBudget
from app.storage.tiers.episodic import Episodic
from app.storage.tiers.rows import TierRows
from app.storage.tiers.tables import TierTable

_BATCH_BYTES = 800_000
_LONGEST_MS = limits.MAX_WORKING_TTL_SECONDS * 1000 + 60_000
"""How much later than now a row of working memory may expire; the clocks of two services differ a little."""
_BATCH_AGENTS = 50
"""Each has a statement of its own in the run, which asks whether it is being erased."""


@dataclass(slots=True)
class _RowLine:
    """A line: a row, or what is wrong with the line; and what became of it."""

    number: int
    id: str | None
    line: RowLine | None = None
    status: Status | None = None
    detail: str | None = None
    missing: bool = False
    """Whether the row that it belongs to is missing."""
    size: int = 0
    """Of the row as JSON, in bytes."""
    moved: bool = False
    """Whether its line names another agent than the one that it is imported to."""
    kept: KeptRow | None = None
    """The row as it is to be written, where its large values are blobs."""

    @property
    def row(self) -> Mapping[str, Scalar]:
        return {} if self.line is None else self.line.row

    @property
    def key(self) -> tuple[Scalar, ...]:
        return () if self.line is None else self.line.key

    @property
    def agent_id(self) -> str | None:
        return None if self.line is None else self.line.agent_id

    def settle(self, status: Status, detail: str | None = None) -> None:
        self.status, self.detail = status, detail


class RowImport:
    """The rows of one import into a tenant; whose they may be is as for memories.

    A row is written where its key is free, and never over another. What was written before an import was cut off is
    found unchanged by the next.
    """

    def __init__(
        self,
        backends: TenantBackends,
        report: ImportReport,
        retry_budget: RetryBudget,
        *,
        only_agent: str | None,
        to_agent: str | None,
    ) -> None:
        """Bind the tenant, and what ``Import`` is given."""
        self._backends = backends
        self._report = report
        self._retry_budget = retry_budget
        self._large = LargeRows(backends)
        self._memory_ids = MemoryIds(backends, retry_budget)
        self._only_agent = only_agent
        self._to_agent = to_agent
        self._entries: list[_RowLine] = []
        self._bytes = 0
        self._refused_bytes: dict[str | None, int] = {}

    @property
    def waiting(self) -> bool:
        """Whether lines are held that were not reported yet."""
        return bool(self._entries)

    async def add(self, number: int, line: RowLine) -> None:
        """Take a row that is as its table is declared. Raises as ``flush`` does."""
        moved = False
        # What names no agent is of none: it tells of the tenant.
        if self._to_agent is not None and line.names_agent:
            moved = line.row["agent_id"] != self._to_agent
            line = RowLine(line.tier, {**line.row, "agent_id": self._to_agent}, line.hash)
        try:
            self._check(line)
        except BadLineError as error:
            await self.reject(number, error.detail, error.id)
            return
        size = len(to_json(dict(line.row)).encode())
        if not self._fits(line, size):
            await self.flush()
        self._bytes += size
        await self._take(_RowLine(number, line.id, line, size=size, moved=moved))

    async def reject(self, number: int, detail: str, id_: str | None) -> None:
        """Take a line that cannot be imported, to be reported in its place. Raises as ``flush`` does."""
        await self._take(_RowLine(number, id_, status="rejected", detail=detail))

    async def flush(self) -> None:
        """Store what was taken and report it.

        Raises:
            Erasing: the tenant, or an agent of the batch, is being erased; nothing more of the batch was stored.
            Unauthenticated: the credential was revoked; nothing more was stored.
            Unavailable: the database does not answer; importing again is safe.
        """
        entries, self._entries, self._bytes = self._entries, [], 0
        if entries:
            await self._backends.admission.part()
        await self._name_memories([entry for entry in entries if entry.line is not None and entry.line.tier.memories])
        await self._keep_large([entry for entry in entries if entry.status is None])
        try:
            await self._store([entry for entry in entries if entry.status is None])
        finally:
            for kept in [entry.kept for entry in entries if entry.kept is not None]:
                await self._large.let_go(kept)
        for entry in entries:
            self._report.add(
                entry.number,
                entry.status or "rejected",
                id_=entry.id,
                detail=entry.detail,
                agent_id=entry.agent_id or None,
            )

    async def _take(self, entry: _RowLine) -> None:
        self._entries.append(entry)
        if len(self._entries) == self._backends.limits.import_lines:
            await self.flush()

    def _check(self, line: RowLine) -> None:
        if self._only_agent is not None and line.agent_id != self._only_agent:
            raise BadLineError("is for another agent than may be imported into", line.id)
        if line.tier.for_anybody and self._backends.author.speakers is not None:
            raise BadLineError("tells of what others said, and the credential may speak for some alone", line.id)
        expires_at = line.row.get("expires_at")
        if line.tier.expires and isinstance(expires_at, int) and expires_at <= self._backends.clock():
            raise BadLineError("has expired", line.id)
        if line.tier.day and isinstance(expires_at, int) and expires_at > self._backends.clock() + _LONGEST_MS:
            raise BadLineError("expires later than working memory may", line.id)

    def _fits(self, line: RowLine, size: int) -> bool:
        taken = [entry for entry in self._entries if entry.line is not None]
        kinds = {entry.line.tier.kind for entry in taken if entry.line is not None}
        agents = {entry.agent_id for entry in taken} | {line.agent_id}
        return kinds <= {line.tier.kind} and len(agents) <= _BATCH_AGENTS and self._bytes + size <= _BATCH_BYTES

    async def _name_memories(self, entries: Sequence[_RowLine]) -> None:
        """Have rows name memories by the ids that these have here."""
        lines = [(entry.line, entry.moved) for entry in entries if entry.line is not None]
        if lines:
            for entry, line in zip(entries, await self._memory_ids.renamed(lines), strict=True):
                entry.line = line

    async def _keep_large(self, entries: Sequence[_RowLine]) -> None:
        """Put large values into the object store, those of rows that are not there yet; settle the others."""
        for entry in entries:
            if entry.line is None or not self._large.has(entry.line.tier, entry.row):
                continue
            tier = entry.line.tier
            known = TierRows(self._backends.tenant_id, tier).known([entry.row])
            (there,) = await self._retry_budget.of(lambda known=known: self._backends.data.database.run([known]))  # type: ignore[misc]
            if there:
                whole = await self._retry_budget.of(lambda tier=tier, row=there[0]: self._large.whole(tier, row))  # type: ignore[misc]
                entry.settle(*_became(entry, held(tier, whole), None))
                continue
            try:
                entry.kept = await self._large.kept(tier, entry.row)
            except (BadLineError, ContentTooLarge, QuotaExceeded) as refusal:
                entry.settle("rejected", refusal.detail)

    async def _store(self, entries: Sequence[_RowLine]) -> None:
        """Write rows of one kind. Where one of them is refused, the others are written without it."""
        entries = [entry for entry in entries if not self._is_over(entry)]
        if not entries or entries[0].line is None:
            return
        tier = entries[0].line.tier
        entries = await self._of_own_parents(entries)
        if not entries:
            return
        try:
            before, after = await self._written(tier, entries)
        except QuotaExceeded as refusal:
            if len(entries) == 1:
                self._refused_bytes[entries[0].agent_id] = entries[0].size
                entries[0].settle("rejected", refusal.detail)
                return
            await self._store_halves(entries)
            return
        except DatabaseRejected as refusal:
            if len(entries) == 1:
                why = f" ({refusal.reason})" if isinstance(refusal, RunRefused) else ""
                entries[0].settle("rejected", f"its table does not take the row{why}")
                return
            await self._store_halves(entries)
            return
        for entry in entries:
            entry.settle(*_became(entry, before.get(entry.key), after.get(entry.key)))
            before.setdefault(entry.key, after.get(entry.key, {}))  # the same key again is no new row

    async def _of_own_parents(self, entries: Sequence[_RowLine]) -> Sequence[_RowLine]:
        """Settle runs whose parents are other agents', whose logs their ends would be told; return the others."""
        ids = sorted({str(entry.row["parent_run_id"]) for entry in entries if entry.row.get("parent_run_id")})
        if self._only_agent is None or not ids:
            return entries
        statement = Episodic(self._backends.tenant_id).of_others(ids, self._only_agent)
        (rows,) = await self._retry_budget.of(lambda: self._backends.data.database.run([statement]))
        others = {row["id"] for row in rows}
        for entry in entries:
            if entry.row.get("parent_run_id") in others:
                entry.settle("rejected", "parent_run_id is a run of another agent than may be imported into")
        return [entry for entry in entries if entry.status is None]

    async def _store_halves(self, entries: Sequence[_RowLine]) -> None:
        middle = len(entries) // 2
        await self._store(entries[:middle])
        await self._store(entries[middle:])

    def _is_over(self, entry: _RowLine) -> bool:
        """Settle a row that is no smaller than one of its agent for which there was no room; tell whether it is so."""
        refused_bytes = self._refused_bytes.get(entry.agent_id)
        if refused_bytes is None or entry.size < refused_bytes:
            return False
        entry.settle("rejected", "is over a limit of bytes, as a row before it")
        return True

    async def _written(self, tier: TierTable, entries: Sequence[_RowLine]) -> tuple["_Rows", "_Rows"]:
        """Write rows, and return what the tenant had under their keys before, and what it has now."""
        tenant_id = self._backends.tenant_id
        rows = TierRows(tenant_id, tier)
        given = [entry.row for entry in entries]
        written = [entry.row if entry.kept is None else entry.kept.row for entry in entries]
        agents = sorted({entry.agent_id for entry in entries if entry.agent_id})
        statements = [rows.known(given), rows.insert(written, self._most(tier)), rows.known(given)]
        if tier.parent is not None:
            statements.insert(0, rows.orphans(given))
        results = await self._retry_budget.of(
            lambda: write(self._backends, Tenant(tenant_id), statements, kind="import", agents=agents)
        )
        before, _, after = results[-3:]
        for found in results[0] if tier.parent is not None else ():
            entries[int(found["place"] or 0)].missing = True
        return _by_key(tier, before), _by_key(tier, after)

    def _most(self, tier: TierTable) -> list[int]:
        """Return how much each limit of the table allows."""
        of_tenant = {"TENANT_EPISODES": self._backends.limits.tenant_episodes}
        return [of_tenant[each.name] if each.name in of_tenant else getattr(limits, each.name) for each in tier.limits]


_Rows = dict[tuple[Scalar, ...], Mapping[str, Scalar]]


def _by_key(tier: TierTable, rows: Sequence[Row]) -> _Rows:
    there = [held(tier, row) for row in rows]
    return {tuple(row[column] for column in tier.key): row for row in there}


def _became(
    entry: _RowLine, before: Mapping[str, Scalar] | None, after: Mapping[str, Scalar] | None
) -> tuple[Status, str | None]:
    """Tell what became of a row from what its key had before and has now."""
    if before is None and after is not None:
        return "imported", None
    tier = None if entry.line is None else entry.line.tier
    if before is None and entry.missing and tier is not None and tier.parent is not None:
        return "rejected", tier.parent.missing
    if before is None and tier is not None and tier.limits:
        return "rejected", tier.over  # nothing but its key is one of a kind in these tables, besides turns
    if before is None:
        return "conflict", "another row has what only one may have"
    if same(dict(before), dict(entry.row)):
        return "unchanged", None
    return "conflict", "another row has this key"
