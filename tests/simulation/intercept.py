"""The ports with somebody in between, who sees every call and decides what becomes of it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Database, Row, Statement
from app.ports.embedder import Embedder, Embeddings, Purpose
from app.ports.index_admin import Expected, IdPage, IndexAdmin, IndexRecord
from app.ports.vector_index import Hits, IndexedVector

T = TypeVar("T")
Effect = Callable[[], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class PortCall:
    """One call of a port: its name, such as ``index.upsert``, and what it is about, for a trace."""

    name: str
    about: object = None
    repeatable: bool = False
    """Whether it may be made twice."""
    statements: Sequence[Statement] = ()
    """What a run of the database consists of."""


class Between(Protocol):
    """Makes a call's effect happen, or not, and returns or raises what the caller shall see."""

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Chain:
    """Several in a row; the first is nearest to the caller."""

    links: Sequence[Between]

    async def pass_on(self, call: PortCall, effect: Effect[T]) -> T:
        if not self.links:
            return await effect()
        return await self.links[0].pass_on(call, lambda: Chain(self.links[1:]).pass_on(call, effect))


@dataclass(frozen=True, slots=True)
class InterceptedDatabase:
    """Implements ``app.ports.database.Database``."""

    inner: Database
    between: Between

    @property
    def backend(self) -> str:
        return self.inner.backend

    @property
    def history_days(self) -> int:
        return self.inner.history_days

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        writes = sum(statement.writes for statement in statements)
        repeatable = all(statement.repeatable or not statement.writes for statement in statements)
        call = PortCall("database.run", (len(statements), writes), repeatable, statements)
        return await self.between.pass_on(call, lambda: self.inner.run(statements))

    async def ping(self) -> None:
        await self.between.pass_on(PortCall("database.ping"), self.inner.ping)

    async def purge_log(self) -> bool:
        return await self.between.pass_on(PortCall("database.purge_log"), self.inner.purge_log)


@dataclass(frozen=True, slots=True)
class InterceptedEmbedder:
    """Implements ``app.ports.embedder.Embedder``."""

    inner: Embedder
    between: Between

    @property
    def config(self) -> EmbeddingConfig:
        return self.inner.config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        call = PortCall("embedder.embed", (purpose, *texts))
        return await self.between.pass_on(call, lambda: self.inner.embed(texts, purpose, tenant_id=tenant_id))

    async def ping(self) -> None:
        await self.between.pass_on(PortCall("embedder.ping"), self.inner.ping)


@dataclass(frozen=True, slots=True)
class InterceptedIndex:
    """Implements ``app.ports.vector_index.IndexAdmin``."""

    inner: IndexAdmin
    between: Between

    @property
    def backend(self) -> str:
        return self.inner.backend

    @property
    def visible_at_once(self) -> bool:
        return self.inner.visible_at_once

    @property
    def confirm_seconds(self) -> float:
        return self.inner.confirm_seconds

    @property
    def removal_grace_ms(self) -> int:
        return self.inner.removal_grace_ms

    @property
    def filterable(self) -> Collection[str] | None:
        return self.inner.filterable

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        call = PortCall("index.query", (scope.tenant_id, scope.agent_id, top_k))
        return await self.between.pass_on(call, lambda: self.inner.query(scope, vector, top_k=top_k, where=where))

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        call = PortCall("index.upsert", tuple((vector.id, vector.revision) for vector in vectors))
        return await self.between.pass_on(call, lambda: self.inner.upsert(vectors))

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        call = PortCall("index.delete", tuple(ids))
        return await self.between.pass_on(call, lambda: self.inner.delete(scope, ids))

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        return await self.between.pass_on(PortCall("index.held", tuple(ids)), lambda: self.inner.held(ids))

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        call = PortCall("index.vectors", tuple(ids))
        return await self.between.pass_on(call, lambda: self.inner.vectors(tenant_id, ids))

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        call = PortCall("index.agrees", tuple(one.id for one in expected))
        return await self.between.pass_on(call, lambda: self.inner.agrees(expected))

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        return await self.between.pass_on(PortCall("index.list_ids", cursor), lambda: self.inner.list_ids(cursor))

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        call = PortCall("index.sample", (tenant_id, agent_id))
        return await self.between.pass_on(call, lambda: self.inner.sample(tenant_id, agent_id))

    async def destroy(self) -> None:
        await self.between.pass_on(PortCall("index.destroy"), self.inner.destroy)

    async def watermark(self) -> int:
        return await self.between.pass_on(PortCall("index.watermark"), self.inner.watermark)

    async def ping(self) -> None:
        await self.between.pass_on(PortCall("index.ping"), self.inner.ping)
