"""A gateway and an indexer that runs only when told to, over ports with a switch on each."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from app.bootstrap import build_runtime
from app.domain.author import Author
from app.domain.query import Query
from app.indexing.indexer import Indexer
from app.indexing.jobs.erase import Eraser
from app.ports.database import Database, Statement
from app.runtime.backends import Backends
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.tenant.backends import TenantBackends
from app.storage import embedding_configs
from app.storage.migrations.runner import migrate
from tests.support import migrated
from tests.support.backends import Backend
from tests.support.clock import Clock, FixedClock, clock_of
from tests.support.doubles import FailingDatabase, FailingEmbedder, FailingIndex
from tests.support.service import settings_for
from tests.support.tables import column_of, count_of

ADMINISTRATOR = Author("administrator", "http", may_replace=True)


B = TypeVar("B", Backends, TenantBackends)


def with_changed(backends: B, **fields: Any) -> B:
    """Return the backends of a process or of a tenant with other values of these fields, each in its group."""
    for name in ("data", "models", "limits", "caches"):
        group: Any = getattr(backends, name, None)
        own = {field: fields.pop(field) for field in list(fields) if hasattr(group, field)}
        fields |= {name: replace(group, **own)} if own else {}
    return replace(backends, **fields)


@dataclass
class Bench:
    """One tenant's gateway, which writes as an administrator, and everything behind it."""

    gateway: LongTermMemoryGateway
    database: FailingDatabase
    index: FailingIndex
    embedder: FailingEmbedder
    indexer: Indexer
    backends: Any
    clock: Clock

    def tenant(self, tenant_id: str) -> LongTermMemoryGateway:
        return LongTermMemoryGateway(self.backends.of_tenant(tenant_id, ADMINISTRATOR))

    async def change(self, sql: str) -> None:
        """Write behind the gateway's back."""
        await self.database.inner.run([Statement(sql, writes=True)])

    async def delivered(self) -> None:
        """Wait for the index writes that go on behind stores and deletions."""
        await self.backends.deliveries.settle()

    async def queued(self) -> dict[str, int]:
        return dict(Counter(await column_of(self, "outbox", "operation", by="operation")))

    async def memories(self) -> int:
        return await count_of(self, "long_term_memory")

    def later(self, seconds: float) -> None:
        """Let time pass, by the clocks of the gateway and of the database."""
        self.clock.later(seconds)

    async def deliver(self) -> None:
        """Let the indexer do what is due, and write what became of it."""
        await self.indexer.round()
        await self.indexer.round()

    async def quiet(self, *, rounds: int = 12, seconds: int = 300) -> None:
        """Let so much time pass that nothing is left to do: rounds with so many seconds before each."""
        for _ in range(rounds):
            self.later(seconds)
            await self.indexer.round()

    async def contents(self, query: str, *, top_k: int = 5) -> list[str]:
        return [entry.content for entry in (await self.gateway.recall("bot", Query(query, top_k=top_k))).entries]


def indexer_of(database: Database, backends: Backends) -> Indexer:
    """Return an indexer that erases in the object store of these backends too."""
    eraser = Eraser(database, backends.index_of, backends.objects)
    return Indexer(database, backends.index_of, backends.acknowledgements, holder="bench", eraser=eraser)


@asynccontextmanager
async def bench_on(data_dir: Path, backend: Backend | None = None, **overrides: Any) -> AsyncIterator[Bench]:
    settings = {} if backend is None else backend.settings(data_dir)
    migrated.prepare(data_dir)
    clock = clock_of(data_dir) if backend is None or backend.moves_clock else FixedClock()
    runtime = build_runtime(settings_for(data_dir, **(settings | overrides)))
    journal: list[str] = []
    database = FailingDatabase(runtime.backends.database, journal=journal)
    if isinstance(clock, FixedClock):
        clock.followed_by.append(database.age_outbox)
    index = FailingIndex(runtime.backends.index, journal=journal)
    embedder = FailingEmbedder(runtime.backends.embedder)
    backends = replace(runtime.backends, database=database, index=index, embedder=embedder, clock=clock)
    await migrate(database)
    await runtime.prepare_index(embedder.config)
    await embedding_configs.begin(database, embedder.config)
    await runtime.backends.scales.find(embedder.config, runtime.backends.embedder)
    journal.clear()
    indexer = indexer_of(database, backends)
    gateway = LongTermMemoryGateway(backends.of_tenant("acme", ADMINISTRATOR))
    try:
        yield Bench(gateway, database, index, embedder, indexer, backends, clock)
    finally:  # a law makes many, and one that finds a counterexample goes on
        await backends.deliveries.close(seconds=1.0)
        for close in runtime.closers:
            await close()
