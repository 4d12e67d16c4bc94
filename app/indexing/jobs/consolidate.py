"""Merges memories that restate each other, agent by agent, of all tenants. Crosses tenants; no request imports it.

A consolidation may be stopped anywhere: each chunk is one run, which may be made twice, and the next consolidation goes
on with the agent at which it stopped. Its merges depend on nothing but the memories that hold, so the end is the same.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import structlog
from ulid import ULID

from app.domain.consolidation import MAX_NAMED, Merge
from app.domain.errors import Conflict, Unavailable
from app.domain.memory import Scope, Tenant
from app.domain.reading import Relation
from app.indexing.consolidation import ReadsRelations, ScopeConsolidation
from app.indexing.rate_limiter import RateLimiter
from app.ports.database import Database, Row, Statement
from app.ports.reader import Reader
from app.storage.consolidating import PAGE, Consolidating
from app.storage.rows import read_row
from app.storage.system import consolidating
from app.storage.system.consolidating import LEASE, UnderWay
from app.storage.system.pruning import delete_expired_tasks

CHUNK: Final = 100
"""Merges, or expired tasks, of one run."""
_PAUSE_SECONDS = 0.02
"""The pause between two runs: requests go first."""
_PASSES = 8
"""Passes over the chains of an agent, where one leads into another; the next consolidation finds those left over."""
_BEHIND_ALL_KEYS = "~\U0010ffff"


@dataclass(slots=True)
class Consolidated:
    """How many memories, facts, chains and tasks of how many tenants and agents were, or would be, merged or closed."""

    tenants: int = 0
    agents: int = 0
    memories: int = 0
    facts: int = 0
    chains: int = 0
    tasks: int = 0
    merges: list[tuple[str, Merge]] = field(default_factory=list)
    """The first merges, each with its tenant."""

    def add(self, tenant_id: str, merges: Sequence[Merge]) -> None:
        """Count merges."""
        facts = sum(merge.kind == "fact" for merge in merges)
        self.facts, self.memories = self.facts + facts, self.memories + len(merges) - facts
        self._name((tenant_id, merge) for merge in merges)

    def sum_up(self, other: "Consolidated") -> None:
        """Add the counts and merges of another consolidation."""
        for name in ("tenants", "agents", "memories", "facts", "chains", "tasks"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._name(other.merges)

    def _name(self, merges: Iterable[tuple[str, Merge]]) -> None:
        self.merges += islice(merges, max(0, MAX_NAMED - len(self.merges)))


class Consolidate:
    """One consolidation of all memories that hold in one database."""

    def __init__(
        self,
        database: Database,
        reader: Reader | None,
        *,
        holder: str,
        rate_limiter: RateLimiter,
        report: Callable[[Consolidated], None],
        dry_run: bool = False,
        pause: float = _PAUSE_SECONDS,
    ) -> None:
        """Take the ports, this process's name, a rate limiter, and a callback for the counts so far.

        Without a ``reader`` only memories that are alike word for word are merged. A ``dry_run`` changes nothing.
        ``pause``: seconds between two runs of the database.
        """
        self._database = database
        self._reader = reader
        self._holder = holder
        self._rate_limiter = rate_limiter
        self._report = report
        self._dry_run = dry_run
        self._pause = pause
        self._done = Consolidated()

    async def run(self, only_tenant: str | None = None) -> Consolidated:
        """Consolidate all tenants, or one tenant; return the counts.

        Raises:
            Conflict: another process consolidates.
            Unavailable: the database or the reader does not answer; the next run goes on from there.
        """
        try:
            if only_tenant is not None:
                await self._tenant(Tenant(only_tenant))
            else:
                async for tenant_id in self._tenants():
                    await self._tenant(Tenant(tenant_id))
        finally:
            with suppress(Unavailable):  # then the lease ends by itself
                await self._release()
        return self._done

    async def _release(self) -> None:
        if not self._dry_run:
            await self._database.run([LEASE.release(self._holder)])

    async def _tenants(self) -> AsyncIterator[str]:
        after = ""
        while True:
            (rows,) = await self._run([consolidating.read_tenants(after)])
            if not rows:
                return
            for row in rows:
                after = str(row["id"])
                yield after

    async def _tenant(self, tenant: Tenant) -> None:
        under_way = None if self._dry_run else await self._begin(tenant)
        if under_way is None and not self._dry_run:
            return  # the tenant has no memories any more, or is just moving
        after = "" if under_way is None else under_way.after
        while True:
            (rows,) = await self._run([consolidating.read_agents(tenant, after)])
            if not rows:
                break
            for row in rows:
                after = str(row["id"])
                await self._agent(Scope(tenant.tenant_id, after), under_way)
        self._done.tenants += 1
        if under_way is not None:
            await self._run(consolidating.finish(tenant, under_way.id))
        self._report(self._done)

    async def _begin(self, tenant: Tenant) -> UnderWay | None:
        _, rows = await self._run(consolidating.begin(tenant, str(ULID())))
        return read_row(UnderWay, rows[0]) if rows else None

    async def _agent(self, scope: Scope, under_way: UnderWay | None) -> None:
        finding = ScopeConsolidation(scope, self._run, _reads_for(scope.tenant_id, self._reader))
        self._done.agents += 1
        if under_way is None:
            alike = await finding.alike()
            restated = await finding.restated(without={merge.other_id for merge in alike})
            self._done.add(scope.tenant_id, [*alike, *restated])
            return
        tasks = await self._close_tasks(scope)
        await self._merge(scope, under_way.id, await finding.alike())
        await self._merge(scope, under_way.id, await finding.restated())
        chains = await self._shorten(scope)
        self._done.tasks, self._done.chains = self._done.tasks + tasks, self._done.chains + chains
        tenant = Tenant(scope.tenant_id)
        await self._run([consolidating.advance(tenant, under_way.id, scope.agent_id, chains=chains, tasks=tasks)])
        if finding.is_cut:
            structlog.get_logger().warning(
                "consolidation_cut", tenant=scope.tenant_id, agent=scope.agent_id, consolidation=under_way.id
            )

    async def _close_tasks(self, scope: Scope) -> int:
        closed = 0
        while True:
            *_, deleted = await self._run(delete_expired_tasks(scope, CHUNK))
            if not deleted:
                return closed
            closed += len(deleted)

    async def _merge(self, scope: Scope, consolidation_id: str, merges: Sequence[Merge]) -> None:
        """Merge in the order that was chosen, so that after a stop the merges that are left are chosen as before."""
        for first in range(0, len(merges), CHUNK):
            chunk = merges[first : first + CHUNK]
            await self._run([Consolidating(scope).merge(consolidation_id, chunk)])
            self._done.add(scope.tenant_id, chunk)

    async def _shorten(self, scope: Scope) -> int:
        """Make each chain of superseded memories lead straight to its end; return the number of new links."""
        statements, made = Consolidating(scope), 0
        for _ in range(_PASSES):
            before, new = _BEHIND_ALL_KEYS, 0
            while True:
                shortened, (row,) = await self._run(statements.shorten(before))
                new += len(shortened)
                if row["last"] is None or int(row["n"] or 0) < PAGE:
                    break
                before = str(row["last"])
            made += new
            if not new:
                break
        await self._run([statements.drop_outdated()])
        return made

    async def _run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Make a run under the lease; a dry run, which only reads, needs none."""
        await self._rate_limiter.spend()
        await asyncio.sleep(self._pause)
        if self._dry_run:
            return await self._database.run(statements)
        held, *results = await self._database.run([LEASE.hold(self._holder), *statements])
        if not held:
            raise Conflict("Another process consolidates. Run it again later: it goes on from there.")
        return results


def _reads_for(tenant_id: str, reader: Reader | None) -> ReadsRelations | None:
    return None if reader is None else _TenantRelations(tenant_id, reader)


@dataclass(frozen=True, slots=True)
class _TenantRelations:
    """A reader whose calls are made for one tenant."""

    tenant_id: str
    reader: Reader

    async def relations(self, pairs: Sequence[tuple[str, str]], /) -> Sequence[Relation]:
        """Return the relation of the second text of each pair to the first."""
        return await self.reader.relations(pairs, tenant_id=self.tenant_id)
