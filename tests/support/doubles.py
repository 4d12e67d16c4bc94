"""Ports that can be told to fail, around real ones."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import MemoryGatewayError, UpstreamTimeout
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Database, Row, Statement
from app.ports.embedder import Embedder, Embeddings, Purpose
from app.ports.index_admin import Expected, IdPage, IndexAdmin, IndexRecord
from app.ports.vector_index import Hits, IndexedVector


@dataclass
class FailingEmbedder:
    """Embeds as the inner one does, until it is given an error; counts its calls. A text of ``delays`` takes longer."""

    inner: Embedder
    error: Exception | None = None
    delays: dict[str, float] = field(default_factory=dict)
    """Seconds by the text."""
    calls: list[tuple[list[str], Purpose]] = field(default_factory=list)

    @property
    def config(self) -> EmbeddingConfig:
        return self.inner.config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        self.calls.append((list(texts), purpose))
        _raise(self.error)
        await asyncio.sleep(sum(self.delays.get(text, 0.0) for text in texts))
        return await self.inner.embed(texts, purpose, tenant_id=tenant_id)

    async def ping(self) -> None:
        _raise(self.error)
        await self.inner.ping()


@dataclass
class ScriptedReranker:
    """Gives a text the relevance of the first part that it contains, else 0; fails or waits when it is told to."""

    script: Mapping[str, float] = field(default_factory=dict)
    error: Exception | None = None
    waits: bool = False
    calls: list[tuple[str, list[str]]] = field(default_factory=list)
    tenants: list[str] = field(default_factory=list)
    cancelled: int = 0
    under_way: int = 0

    @property
    def name(self) -> str:
        return "scripted"

    async def rerank(
        self, query: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        self.calls.append((query, list(texts)))
        self.tenants.append(tenant_id)
        self.under_way += 1
        try:
            async with asyncio.timeout(seconds):
                while self.waits:
                    await asyncio.sleep(0.001)
        except TimeoutError as error:
            raise UpstreamTimeout("The reranker did not answer in time.") from error
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way -= 1
        _raise(self.error)
        return [next((self.script[part] for part in self.script if part in text), 0.0) for text in texts]

    async def ping(self) -> None:
        _raise(self.error)


@dataclass
class FailingDatabase:
    """Runs as the inner one does, until it is given an error; keeps what it was asked, and who was asked when."""

    inner: Database
    error: MemoryGatewayError | None = None
    log_in_use: bool = False
    runs: list[list[Statement]] = field(default_factory=list)
    journal: list[str] = field(default_factory=list)
    outbox_older_ms: int = 0

    @property
    def backend(self) -> str:
        return self.inner.backend

    @property
    def history_days(self) -> int:
        return self.inner.history_days

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.runs.append(list(statements))
        self.journal.append("database.run")
        _raise(self.error)
        if self.outbox_older_ms:
            shift, self.outbox_older_ms = self.outbox_older_ms, 0
            sql = f"UPDATE outbox SET due_at = due_at - {shift}, acknowledged_at = acknowledged_at - {shift}"
            await self.inner.run([Statement(f"{sql} WHERE dead IS NULL", writes=True)])
        return await self.inner.run(statements)

    def age_outbox(self, seconds: float) -> None:
        """Make the rows of the outbox older before the next run: for a database whose clock no test can move."""
        self.outbox_older_ms += round(seconds * 1000)

    async def ping(self) -> None:
        _raise(self.error)
        await self.inner.ping()

    async def purge_log(self) -> bool:
        _raise(self.error)
        return not self.log_in_use and await self.inner.purge_log()


@dataclass
class FailingIndex:
    """Answers as the inner one does, until it is given an error."""

    inner: IndexAdmin
    error: MemoryGatewayError | None = None
    journal: list[str] = field(default_factory=list)

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
        self.journal.append("index.query")
        _raise(self.error)
        return await self.inner.query(scope, vector, top_k=top_k, where=where)

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        self.journal.append("index.upsert")
        _raise(self.error)
        return await self.inner.upsert(vectors)

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        self.journal.append("index.delete")
        _raise(self.error)
        return await self.inner.delete(scope, ids)

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        self.journal.append("index.held")
        _raise(self.error)
        return await self.inner.held(ids)

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        self.journal.append("index.vectors")
        _raise(self.error)
        return await self.inner.vectors(tenant_id, ids)

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        self.journal.append("index.agrees")
        _raise(self.error)
        return await self.inner.agrees(expected)

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        self.journal.append("index.list_ids")
        _raise(self.error)
        return await self.inner.list_ids(cursor)

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        self.journal.append("index.sample")
        _raise(self.error)
        return await self.inner.sample(tenant_id, agent_id)

    async def destroy(self) -> None:
        await self.inner.destroy()

    async def watermark(self) -> int:
        _raise(self.error)
        return await self.inner.watermark()

    async def ping(self) -> None:
        _raise(self.error)
        await self.inner.ping()


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error
