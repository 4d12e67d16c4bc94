"""Reads one tenant's memories, the use of its limits and the settings of its agents."""

from collections.abc import Sequence

from app.domain import limits
from app.domain.errors import NotFound, QuotaExceeded
from app.domain.memory import Memory, owner_of
from app.domain.query import Filter
from app.domain.quotas import ModelUsage, RowCounts, Usage
from app.services.tenant.backends import TenantBackends
from app.storage import backlog, model_spend
from app.storage.agents import AgentChange, Agents, AgentSettings, KnownAgent, agent_settings
from app.storage.backlog import Backlog, DeadLetter
from app.storage.declared import ListPage
from app.storage.listing import ListPosition, MemoryListing
from app.storage.quotas import Quotas, row_counts, usages
from app.storage.rows import read_memory, read_rows


class Browser:
    """Reads one tenant's data, and sets its agents.

    As with the gateway the tenant is bound here, and no method takes another; a browser is made for each request.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends; they bind the tenant."""
        self._database = backends.data.database
        self._model = backends.models.model
        self._listing = MemoryListing(backends.tenant_id)
        self._agents = Agents(backends.tenant_id)
        self._quotas = Quotas(backends.tenant_id, backends.limits.quotas)

    async def list(
        self,
        agent_id: str | None,
        where: Filter,
        *,
        limit: int,
        after: ListPosition | None,
        written_by: str | None = None,
    ) -> ListPage[Memory]:
        """Return the next memories that pass the filter, of one agent or of all, newest first.

        With ``written_by`` only the memories that this credential has written are returned.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        limits.check(
            ("agent_id", limits.AGENT_ID, agent_id),
            ("limit", limits.LIST_LIMIT, limit),
            ("written_by", limits.CREDENTIAL_ID, written_by),
            ("metadata", limits.FILTER_METADATA, where.metadata),
        )
        wanted = self._listing.page(agent_id, where, limit=limit + 1, after=after, written_by=written_by)
        (rows,) = await self._database.run([wanted])
        memories = [read_memory(self._listing.tenant_id, row) for row in rows[:limit]]
        return ListPage(memories, ListPosition(memories[-1].created_at, memories[-1].id) if len(rows) > limit else None)

    async def get(self, agent_id: str, memory_id: str) -> Memory:
        """Return one memory.

        Raises:
            NotFound: the agent has no such memory.
            InvalidRequest: an id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        (rows,) = await self._database.run([self._listing.one(agent_id, memory_id)])
        if not rows:
            raise NotFound("The agent has no such memory.")
        return read_memory(self._listing.tenant_id, rows[0])

    async def usage(self) -> tuple[Usage, Sequence[Usage], RowCounts]:
        """Return the tenant's usage, the usage of its agents, largest first, and the counts of its other rows.

        Raises:
            Unavailable: the database does not answer.
        """
        tenant, agents, (beside,) = await self._database.run(
            [self._quotas.parts(None), self._quotas.agents(), self._quotas.row_counts()]
        )
        return usages(tenant)[0], usages(agents), row_counts(beside)

    async def model_usage(self) -> ModelUsage | None:
        """Return what calls of language models have cost the tenant today; None where no model is set.

        The calls that other processes have not written yet, those of half a minute, are left out.

        Raises:
            Unavailable: the database does not answer.
        """
        if self._model is None:
            return None
        ((row,),) = await self._database.run([model_spend.read(self._quotas.tenant_id, self._model.today)])
        written = model_spend.spending(row)
        return self._model.usage(written.calls, written.tokens)

    async def backlog(self, only_agent: str | None, limit: int) -> tuple[Backlog, Sequence[DeadLetter]]:
        """Return what the outbox waits for, and the newest changes, at most ``limit``, that the index refused.

        With ``only_agent`` they are those of that agent, else the tenant's.

        Raises:
            InvalidRequest: the limit is not from 1 to 100.
            Unavailable: the database does not answer.
        """
        limits.check(("limit", limits.LIST_LIMIT, limit))
        return backlog.backlog(
            await self._database.run(backlog.read(owner_of(self._quotas.tenant_id, only_agent), limit))
        )

    async def usage_of(self, agent_id: str) -> Usage:
        """Return one agent's usage; raises as ``usage`` does, and ``InvalidRequest`` where the id is malformed."""
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        (rows,) = await self._database.run([self._quotas.parts(agent_id)])
        return usages(rows)[0]

    async def agents(self, only: str | None, *, limit: int, after: ListPosition | None) -> ListPage[KnownAgent]:
        """Return the next agents of which something is kept or that were set, by their ids; with ``only`` that one.

        Raises:
            InvalidRequest: the limit is not from 1 to 100.
            Unavailable: the database does not answer.
        """
        limits.check(("limit", limits.LIST_LIMIT, limit))
        wanted = self._agents.page(only, limit=limit + 1, after="" if after is None else after.id)
        (rows,) = await self._database.run([wanted])
        agents = read_rows(KnownAgent, rows[:limit])
        return ListPage(agents, ListPosition(0, agents[-1].agent_id) if len(rows) > limit else None)

    async def agent(self, agent_id: str) -> AgentSettings:
        """Return an agent's settings, the defaults for an unknown agent; raises as ``get``, but for ``NotFound``."""
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        (rows,) = await self._database.run([self._agents.settings(agent_id)])
        return agent_settings(rows)

    async def set_agent(self, agent_id: str, change: AgentChange) -> AgentSettings:
        """Change an agent's settings, and return them as they are now.

        A retention holds for memories that are stored from now on, any other setting for calls that begin from now on.

        Raises:
            QuotaExceeded: the most agents that may have settings have them already; nothing was changed.
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        days = change.get("retention_days")
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("retention_days", limits.RETENTION_DAYS, days))
        written, rows = await self._database.run([self._agents.set(agent_id, change), self._agents.settings(agent_id)])
        if not written:
            most = limits.MAX_AGENT_SETTINGS
            raise QuotaExceeded(
                f"{most} agents of this tenant have settings, and no more may. Erase those that are gone.",
                reached=f"agent_settings;scope=tenant;used={most};limit={most}",
            )
        return agent_settings(rows)
