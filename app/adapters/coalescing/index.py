"""A vector index that makes equal concurrent queries once, and concurrent upserts in one call."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from opentelemetry.trace import get_current_span

from app.adapters.coalescing.gatherer import FREE, Gatherer, Metering, Size, of_one_part
from app.domain.embedding import Vector
from app.domain.errors import VectorRefused
from app.domain.memory import Scope
from app.domain.query import Filter
from app.observability.traces import shared_context
from app.ports.index_admin import Expected, IdPage, IndexAdmin, IndexRecord
from app.ports.vector_index import AsksWithin, AwaitedHits, Hits, IndexedVector

MOST = Size(items=500, bytes=4_000_000)
_FLOAT_BYTES = 12
"""Bytes of a number in a line of JSON, about."""
_Question = tuple[Scope, bytes, int, str]


class CoalescingIndex(AsksWithin):
    """Joins concurrent upserts into one call, and equal queries that are under way. Implements ``IndexAdmin``.

    A query that joins another one may see the index as it was when that one began. A recall reads from the
    database the memories that the index may not show yet, for longer than any query takes (docs/architecture.md).
    """

    def __init__(self, below: IndexAdmin, metering: Metering = FREE) -> None:
        """Wrap an index; ``metering`` is charged for each call of it that is for tenants."""
        self._below = below
        self._metering = metering
        self._upserts: Gatherer[Sequence[IndexedVector], int] = Gatherer(
            self._upsert_all, parts=of_one_part(_size), most=MOST, refused=(VectorRefused,), linger=metering.linger
        )
        self._under_way: dict[_Question, asyncio.Task[Hits]] = {}

    @property
    def backend(self) -> str:
        """Return the name of the index below."""
        return self._below.backend

    @property
    def visible_at_once(self) -> bool:
        """Return whether the index below shows writes at once."""
        return self._below.visible_at_once

    @property
    def confirm_seconds(self) -> float:
        """Return after how many seconds it is worth asking the index below whether a write shows."""
        return self._below.confirm_seconds

    @property
    def removal_grace_ms(self) -> int:
        """Return how long a removal waits in the index below."""
        return self._below.removal_grace_ms

    @property
    def filterable(self) -> Collection[str] | None:
        """Return the keys that the index below filters on."""
        return self._below.filterable

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        """Return the most similar vectors of the scope; see ``VectorIndex.query``."""
        question = (scope, vector.tobytes(), top_k, repr(where))
        asked = self._under_way.get(question)
        if asked is None:
            self._metering.charge({scope.tenant_id})
            query = self._below.query(scope, vector, top_k=top_k, where=where)
            asked = asyncio.get_running_loop().create_task(query, context=shared_context([get_current_span()]))
            self._under_way[question] = asked
            asked.add_done_callback(lambda ended: self._ended(question, ended))
        return await asyncio.shield(asked)

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        """Return the search that a run of the database makes in the index below in the same call; None if not now."""
        below = self._below
        return below.ask_within(scope, vector, top_k=top_k, where=where) if isinstance(below, AsksWithin) else None

    def _ended(self, question: _Question, ended: asyncio.Task[Hits]) -> None:
        del self._under_way[question]
        if not ended.cancelled():
            ended.exception()  # where every caller was cancelled, the error is read nowhere else

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        """Add or replace vectors; see ``VectorIndex.upsert``."""
        if not vectors:
            return await self._below.upsert(vectors)
        return await self._upserts.ask(vectors, vectors[0].scope.tenant_id)

    async def _upsert_all(self, requests: Sequence[Sequence[IndexedVector]]) -> Sequence[int]:
        newest: dict[tuple[Scope, str], IndexedVector] = {}
        for vector in (vector for vectors in requests for vector in vectors):
            there = newest.get((vector.scope, vector.id))
            if there is None or there.revision <= vector.revision:
                newest[vector.scope, vector.id] = vector
        self._metering.charge({scope.tenant_id for scope, _ in newest})
        return [await self._below.upsert(list(newest.values()))] * len(requests)

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove vectors of the scope; see ``VectorIndex.delete``."""
        self._metering.charge({scope.tenant_id})
        return await self._below.delete(scope, ids)

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Return the tenant's vectors of these ids; see ``VectorIndex.vectors``."""
        self._metering.charge({tenant_id})
        return await self._below.vectors(tenant_id, ids)

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        """Return the records that the index shows under these ids; see ``IndexAdmin.held``."""
        return await self._below.held(ids)

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        """Return whether the index shows the expected records; see ``IndexAdmin.agrees``."""
        return await self._below.agrees(expected)

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        """Return a page of all ids; see ``IndexAdmin.list_ids``."""
        return await self._below.list_ids(cursor)

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        """Return ids of some vectors; see ``IndexAdmin.sample``."""
        self._metering.charge({tenant_id})
        return await self._below.sample(tenant_id, agent_id)

    async def watermark(self) -> int:
        """Return how far the index shows writes; see ``IndexAdmin.watermark``."""
        return await self._below.watermark()

    async def destroy(self) -> None:
        """Remove the index below."""
        await self._below.destroy()

    async def ping(self) -> None:
        """Return if the index below answers."""
        await self._below.ping()


def _size(vectors: Sequence[IndexedVector]) -> Size:
    return Size(len(vectors), sum(_FLOAT_BYTES * len(vector.values) for vector in vectors))
