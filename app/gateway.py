"""The gateway: one tenant's way to its memories, made anew for each request."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import structlog
from ulid import ULID

from app import limits
from app.audit import Audit
from app.errors import Unavailable
from app.index import in_use
from app.index.outbox import PENDING_MOST, Deliveries, Delivery, Outbox, score
from app.model import Entry, Filter, NewMemory, Scope, Vector, moment
from app.ports.database import Database, Row
from app.ports.embedder import Embedder
from app.ports.vector_index import Hit, IndexedVector, VectorIndex
from app.retrieval.query_vectors import QueryCache, QueryVectors
from app.tiers.long_term import LongTermMemory, entry

Clock = Callable[[], int]
"""Returns now, in milliseconds since the epoch."""

_SPARE_HITS = 5
"""Hits asked for beyond top_k, in place of those whose memory is gone."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What a recall found, best first, and in ``degraded`` why it may not be all there is."""

    entries: Sequence[Entry]
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Ports:
    """What a gateway works with; the same for every request of a process."""

    database: Database
    index: VectorIndex
    embedder: Embedder
    queries: QueryCache
    deliveries: Deliveries
    clock: Clock


class LongTermMemoryGateway:
    """Stores, recalls and deletes the memories of one tenant's agents.

    The tenant is bound here and no method takes another. A gateway owns no sockets and keeps nothing
    between calls, so it needs no closing.
    """

    def __init__(self, tenant_id: str, ports: Ports) -> None:
        """Bind the tenant."""
        self._tenant_id = tenant_id
        self._ports = ports
        self._queries = QueryVectors(tenant_id, ports.embedder, ports.queries)

    async def store(self, agent_id: str, memory: NewMemory) -> str:
        """Store a memory and return its id; the same content again is the same memory.

        Once this returns, every recall finds the memory, whatever becomes of the index.

        Raises:
            InvalidRequest: a field is over its limits; nothing was written.
            EmbeddingConfigMismatch: the data was embedded with another config; nothing was written.
            UpstreamTimeout, UpstreamUnavailable, UpstreamRejected: it may be stored; storing it again is safe.
            Unavailable: the embedder or the database does not answer; nothing was written.
        """
        limits.check_store(agent_id, memory)
        scope = Scope(self._tenant_id, agent_id)
        config = self._ports.embedder.config
        started = time.perf_counter()
        embedded = await self._ports.embedder.embed([memory.content], "document")
        embedding_ms = (time.perf_counter() - started) * 1000
        (vector,) = embedded.vectors
        now = self._ports.clock()
        new_id = str(ULID.from_datetime(moment(now)))
        content_hash = memory.content_hash
        _, queued, stored, _ = await self._ports.database.run(
            [
                in_use.claim(config),
                Outbox(scope).queue_upsert(new_id, vector, content_hash=content_hash, config=config),
                LongTermMemory(scope).insert(memory, memory_id=new_id, created_at=now, config=config),
                Audit(scope).stored(
                    content_hash, now=now, config=config, tokens=embedded.tokens, milliseconds=embedding_ms
                ),
            ]
        )
        if not stored:
            await in_use.verify(self._ports.database, config)
            raise Unavailable("The embedding config in use has just changed. Nothing was stored; try again.")
        (row,) = stored
        memory_id = str(row["id"])
        await self._deliver(
            IndexedVector(
                scope, memory_id, vector, int(row["created_at"] or 0), int(queued[0]["revision"] or 0), memory.metadata
            )
        )
        return memory_id

    async def recall(self, agent_id: str, query: str, *, top_k: int = 5, where: Filter | None = None) -> Recall:
        """Return the memories most similar to the query, at most ``top_k`` of those that pass the filter.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: there is no answer; an outage is never an empty one.
        """
        where = where or Filter()
        limits.check_recall(agent_id, query, top_k, where)
        scope = Scope(self._tenant_id, agent_id)
        vector = await self._queries.of(query)
        asked = top_k + _SPARE_HITS
        while True:
            # The index comes first: what the indexer confirms meanwhile is then in the hits, not in neither.
            answer = await self._ports.index.query(scope, vector, top_k=asked, where=where)
            config_rows, pending, found, *filling = await self._ports.database.run(
                [
                    in_use.READ,
                    Outbox(scope).pending(where),
                    LongTermMemory(scope).read([hit.id for hit in answer.hits], where, most=top_k),
                    *([] if answer.filtered else [LongTermMemory(scope).newest(where, most=top_k)]),
                ]
            )
            in_use.check(config_rows, self._ports.embedder.config)
            if len(found) == top_k or not answer.more:
                degraded = _degraded(pending, filled=bool(filling) and len(found) < top_k)
                entries = _merge(answer.hits, [*chain(*filling), *found], pending, vector)
                return Recall(entries[:top_k], degraded)
            asked *= 4  # vectors whose memory is gone took the places

    async def delete(self, agent_id: str, memory_id: str) -> None:
        """Delete a memory; one that is not there, or not in this scope, is no error.

        Raises:
            InvalidRequest: an id has not the form of one.
            DatabaseUnavailable: nothing was deleted.
        """
        limits.check_delete(agent_id, memory_id)
        scope = Scope(self._tenant_id, agent_id)
        _, deleted = await self._ports.database.run(
            [Outbox(scope).queue_delete(memory_id), LongTermMemory(scope).delete(memory_id)]
        )
        if not deleted:
            return
        try:
            await self._ports.index.delete(scope, [memory_id])
        except Unavailable as error:  # the memory is gone; the indexer removes the vector
            _deferred("delete", error)

    async def _deliver(self, vector: IndexedVector) -> None:
        """Bring a stored memory's vector to the index; what fails stays in the outbox for the indexer."""
        try:
            acknowledged_at = await self._ports.index.upsert([vector])
        except Unavailable as error:
            _deferred("upsert", error)
        else:
            self._ports.deliveries.add(Delivery(vector.scope, vector.id, vector.revision, acknowledged_at))


def _merge(hits: Sequence[Hit], rows: Sequence[Row], pending: list[Row], vector: Vector) -> list[Entry]:
    """Merge, by id and best first, what was read and what the outbox holds, whose vector is the newer.

    What only the filter found has not been compared with the query: it comes last, with a score of -1.
    """
    newest = pending[:PENDING_MOST]
    scores = {hit.id: hit.score for hit in hits} | score(newest, vector)
    by_id = {str(row["id"]): row for row in (*rows, *newest)}
    best = sorted(by_id, key=lambda id_: (scores.get(id_, -1), by_id[id_]["created_at"], id_), reverse=True)
    return [entry(by_id[id_], scores.get(id_, -1)) for id_ in best]


def _degraded(pending: list[Row], *, filled: bool) -> list[str]:
    """Say why an answer may not be the best there is."""
    reasons = {"pending_bound": len(pending) > PENDING_MOST, "filter_beyond_index": filled}
    return [reason for reason, holds in reasons.items() if holds]


def _deferred(operation: str, error: Unavailable) -> None:
    structlog.get_logger().warning("index_write_deferred", operation=operation, code=error.code)
