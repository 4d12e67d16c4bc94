"""Stores the memories and the rows of the tiers of an import, in batches of one kind (docs/format.md)."""

from dataclasses import dataclass, field

from app.domain.canaries import RESERVED_AGENTS
from app.domain.errors import Erasing, SensitiveContent
from app.domain.tier_limits import MAX_WORKING_TTL_SECONDS
from app.services.tenant.backends import TenantBackends
from app.services.transfer.batch import MemoryImportLine
from app.services.transfer.export import RETRY_SECONDS
from app.services.transfer.fields import BadLineError, bad
from app.services.transfer.lines import Line
from app.services.transfer.memories import MemoryImport
from app.services.transfer.report import ImportLine, ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.services.transfer.rows import RowImport, RowImportLine
from app.services.transfer.screened import screened
from app.storage.erasures import Erasures
from app.storage.tiers.tables import TierTable

_REPORTED_AT_ONCE = 200
_LONGEST_MS = MAX_WORKING_TTL_SECONDS * 1000 + 60_000
"""How many milliseconds from now a row of working memory may expire; the clocks of two services differ a little."""


@dataclass(slots=True)
class WaitingLines:
    """Lines that were taken and are not stored yet, all of one table but for those that are rejected."""

    lines: list[ImportLine] = field(default_factory=list)
    table: TierTable | None = None
    bytes: int = 0
    agents: set[str | None] = field(default_factory=set)
    in_order: bool = True
    """Whether the lines came in the order of their ids."""
    last_id: str = ""

    def fits(self, table: TierTable, line: ImportLine, *, most_bytes: int, most_agents: float) -> bool:
        """Tell whether a line may be stored together with the lines that wait."""
        few = self.bytes + line.size <= most_bytes and len(self.agents | {line.agent_id}) <= most_agents
        return few and self.table in {None, table}

    def add(self, line: ImportLine) -> None:
        """Take the next line."""
        self.lines.append(line)
        self.bytes += line.size
        if line.status is None:
            self.agents.add(line.agent_id)
            self.in_order &= self.last_id <= line.first_id
            self.last_id = line.first_id


class Import:
    """One import into a tenant; with ``only_agent`` it rejects lines for another agent.

    No line is acknowledged before it is stored. Stored lines are ``unchanged`` in a second import.
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
        """Bind the tenant; the status of each line goes into the report.

        With ``to_agent``, each line that names an agent becomes a line of ``to_agent``.
        """
        self._backends = backends
        self._report = report
        self._only_agent = only_agent
        self._to_agent = to_agent
        self._retry_budget = retry_budget or RetryBudget(RETRY_SECONDS)
        self._memories = MemoryImport(backends, self._retry_budget)
        self._rows = RowImport(backends, self._retry_budget, only_agent=only_agent)
        self._waiting = WaitingLines()

    @property
    def tenant_id(self) -> str:
        """The tenant that is imported into."""
        return self._backends.tenant_id

    async def part(self) -> None:
        """Wait until the import may go on for some milliseconds."""
        await self._backends.admission.part()

    async def begin(self) -> None:
        """Check that the tenant may be imported into.

        Raises:
            Erasing: the tenant, or the agent that is imported into, is being erased.
            EmbeddingConfigMismatch: the data was embedded with another config.
            Unavailable: the database does not answer.
        """
        under_way = Erasures(self.tenant_id).under_way(self._to_agent or self._only_agent)
        if await self._retry_budget.rows(self._backends.data.database, under_way):
            raise Erasing("The agent, or its tenant, is being erased. Import again once the erasure has its receipt.")
        await self._retry_budget.of(self._backends.data.claim)
        self._backends.models.embedder_of(self._backends.data.configs.active)

    async def add(self, number: int, line: Line) -> None:
        """Take a line: a memory within the limits of a store, or a row that agrees with its table's declaration.

        The line is stored with its batch, behind the lines before it. A line of a canary is left out as unchanged.
        Raises as ``flush`` does.
        """
        agent_id = line.value("agent_id")
        if agent_id in RESERVED_AGENTS:  # a canary is planted: in another tenant its token would be a leak
            await self._take(ImportLine(number, line.id, "unchanged", None))
            return
        line = line if self._to_agent is None else line.given_to(self._to_agent)
        try:
            self._check(line)
        except BadLineError as error:
            await self.reject(number, error.detail, line.id)
            return
        try:
            line = await screened(line, self._backends.screening)
        except SensitiveContent as refusal:
            await self.reject(number, refusal.detail, line.id)
            return
        importer: MemoryImport | RowImport = self._memories if line.is_memory else self._rows
        taken = importer.line(number, line, moved=line.value("agent_id") != agent_id)
        if not self._waiting.fits(line.table, taken, most_bytes=importer.most_bytes, most_agents=importer.most_agents):
            await self.flush()
        self._waiting.table = line.table
        await self._take(taken)

    async def reject(self, number: int, detail: str, id_: str | None = None, *, times: int = 1) -> None:
        """Take a line that cannot be imported, to be reported in its place. Raises as ``flush`` does.

        ``times``: how many consecutive lines are rejected, of which ``number`` is the first.
        """
        listed = min(times, self._report.listable)
        for position in range(number, number + listed):
            await self._take(ImportLine(position, id_, "rejected", detail))
        self._report.count_rejected(times - listed)

    async def flush(self) -> None:
        """Store the lines that were taken, and report them.

        Raises:
            Erasing: the tenant, or an agent of the batch, is being erased; nothing more of that agent was stored.
            EmbeddingConfigMismatch: the data was embedded with another config; nothing of the batch was stored.
            Unauthenticated: the credential was revoked; nothing more was stored.
            Unavailable: an upstream service does not answer; a part of the batch may be stored. A new import is safe.
        """
        lines, self._waiting = self._waiting.lines, WaitingLines()
        if memories := [line for line in lines if isinstance(line, MemoryImportLine)]:
            await self._memories.store(memories)
        if rows := [line for line in lines if isinstance(line, RowImportLine)]:
            await self._rows.store(rows)
        for position, line in enumerate(lines, 1):
            if position % _REPORTED_AT_ONCE == 0:
                await self.part()
            self._report.add(line)

    async def finish(self) -> None:
        """Store and report the last lines, and bring the last vectors to the index. Raises as ``flush`` does."""
        await self.flush()
        await self._memories.deliver()

    async def _take(self, line: ImportLine) -> None:
        self._waiting.add(line)
        # Lines in the order of their ids, as an export has them, need not be sorted with the lines behind them.
        limits = self._backends.limits
        if len(self._waiting.lines) >= (limits.import_lines if self._waiting.in_order else limits.import_window):
            await self.flush()

    def _check(self, line: Line) -> None:
        expires_at, now = line.value("expires_at"), self._backends.clock()
        if self._only_agent is not None and line.agent_id != self._only_agent:
            bad("is for another agent than may be imported into")
        if line.table.for_anybody and self._backends.author.speakers is not None:
            bad("tells of what others said, and the credential may speak for some alone")
        if line.table.expires and isinstance(expires_at, int) and expires_at <= now:
            bad("has expired")
        if line.table.day and isinstance(expires_at, int) and expires_at > now + _LONGEST_MS:
            bad("expires later than working memory may")
