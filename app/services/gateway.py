"""The gateway: one tenant's way to its memories, made anew for each request."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ulid import ULID

from app.domain import limits
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import NotFound, Unavailable
from app.domain.memory import NewMemory, Scope
from app.domain.moments import moment
from app.domain.query import Query
from app.domain.quotas import Use
from app.indexing.delivery import deferred, deliver
from app.ports.vector_index import IndexedVector
from app.services.backends import TenantBackends
from app.services.explain import Explainer, Explanation
from app.services.recall import Recall, Recaller
from app.storage.admission import Admission
from app.storage.audit import Audit
from app.storage.erasures import Erasure, Erasures, erasure
from app.storage.memories import LongTermMemory
from app.storage.outbox import Outbox
from app.storage.request_state import watch, watch_store

Warn = Callable[[Sequence[Use]], None]
"""Is told of the limits of which a store has left little."""

_T = TypeVar("_T")
_TRIES = 3
"""Of one request, while the config in use is being changed."""


class LongTermMemoryGateway:
    """Stores, recalls and deletes the memories of one tenant's agents.

    The tenant is bound here and no method takes another. A gateway owns no sockets and keeps nothing
    between calls, so it needs no closing.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with; the tenant is bound in it."""
        self._tenant_id = backends.tenant_id
        self._backends = backends

    async def store(
        self, agent_id: str, memory: NewMemory, *, idempotency_key: str | None = None, warn: Warn | None = None
    ) -> str:
        """Store a memory and return its id; the same content again is the same memory.

        Once this returns, every recall finds the memory, whatever becomes of the index. The same request with
        the same key, in 24 hours, is answered the same and changes nothing, even if the memory has been deleted.

        Raises:
            InvalidRequest: a field is over its limits; nothing was written.
            IdempotencyKeyReused: the key came with another request; nothing was written.
            Erasing: the agent or the tenant is being erased; nothing was written.
            LongTermDisabled: the agent's long-term memory is switched off; nothing was written.
            QuotaExceeded: the agent or the tenant may have no more; nothing was written.
            EmbeddingConfigMismatch: the data was embedded with another config; nothing was written.
            UpstreamTimeout, UpstreamUnavailable, UpstreamRejected: it may be stored; storing it again is safe.
            Unavailable: the embedder or the database does not answer; nothing was written.
        """
        limits.check_store(agent_id, memory, idempotency_key, now=self._backends.clock())
        scope = Scope(self._tenant_id, agent_id)
        return await _settled(lambda: self._store(scope, memory, idempotency_key, warn))

    async def recall(self, agent_id: str, query: Query) -> Recall:
        """Return the memories that answer the query best, of those that pass its filter.

        Where a channel does not answer the others do, and ``degraded`` names it.

        Raises:
            InvalidRequest: a field is over its limits.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: there is no answer; an outage is never an empty one.
        """
        limits.check_recall(agent_id, query)
        scope = Scope(self._tenant_id, agent_id)
        recaller = Recaller(self._backends)
        return await _settled(lambda: recaller.recall(scope, query))

    async def explain(self, agent_id: str, query: Query, memory_id: str) -> Explanation:
        """Explain why a memory is, or is not, among the entries of a recall, and what would return it.

        Raises:
            NotFound: the agent has no such memory.
            InvalidRequest: a field is over its limits, or the id has not the form of one.
            LongTermDisabled: the agent's long-term memory is switched off.
            Unavailable: there is no answer.
        """
        limits.check_recall(agent_id, query)
        limits.check_memory(agent_id, memory_id)
        scope = Scope(self._tenant_id, agent_id)
        explainer = Explainer(self._backends)
        return await _settled(lambda: explainer.explain(scope, query, memory_id))

    async def delete(self, agent_id: str, memory_id: str) -> None:
        """Delete a memory; one that is not there, or not in this scope, is no error.

        Once this returns no recall finds it, wherever its vector may still linger.

        Raises:
            InvalidRequest: an id has not the form of one.
            Unavailable: the database does not answer; deleting it again is safe.
        """
        limits.check_memory(agent_id, memory_id)
        scope = Scope(self._tenant_id, agent_id)
        queued, _, deleted, (watched,) = await self._backends.database.run(
            [
                Outbox(scope).queue_delete(memory_id),
                Audit(scope).deleted(memory_id, now=self._backends.clock()),
                LongTermMemory(scope).delete(memory_id),
                watch(self._tenant_id),
            ]
        )
        self._backends.observe(watched)
        if not deleted:
            return
        names = {row["index_name"] for row in queued}
        for config in self._backends.configs.configs:
            if config.index_name not in names:
                continue
            index = self._backends.index_of(config)
            try:
                await index.delete(scope, [memory_id])
            except Unavailable as error:  # the memory is gone; the indexer removes the vector
                deferred("delete", error)

    async def erase(self, agent_id: str | None) -> Erasure:
        """Begin to erase an agent, or with None the whole tenant; one under way that covers it is returned instead.

        From now until its receipt is written nothing is stored in its scope.

        Raises:
            InvalidRequest: the agent's id has not the form of one.
            Unavailable: the database does not answer; asking again is safe.
        """
        if agent_id is not None:
            limits.check_erase(agent_id)
        new_id = str(ULID.from_datetime(moment(self._backends.clock())))
        *_, (running,) = await self._backends.database.run(Erasures(self._tenant_id).accept(new_id, agent_id))
        self._backends.acknowledgements.wake()
        return erasure(running)

    async def erasure(self, erasure_id: str, *, only_agent: str | None = None) -> Erasure:
        """Return how far an erasure is; with ``only_agent``, only one of that agent.

        Raises:
            NotFound: the tenant has no such erasure.
            InvalidRequest: the id has not the form of one.
            Unavailable: the database does not answer.
        """
        limits.check_operation(erasure_id)
        (rows,) = await self._backends.database.run([Erasures(self._tenant_id).read(erasure_id, only_agent)])
        if not rows:
            raise NotFound("There is no such operation.")
        return erasure(rows[0])

    async def _store(self, scope: Scope, memory: NewMemory, key: str | None, warn: Warn | None) -> str | None:
        """Store with the config that was last seen in use; None where another one is: nothing was written."""
        used = self._backends.configs
        started = time.perf_counter()
        embedder = self._backends.embedder_of(used.active)
        embedded = await embedder.embed([memory.content], "document")
        embedding_ms = (time.perf_counter() - started) * 1000
        vectors = {used.active.index_name: embedded.vectors[0]} | await self._shadow(memory.content, used.shadow)
        now = self._backends.clock()
        new_id = str(ULID.from_datetime(moment(now)))
        admission = Admission(scope, new_id, memory, used, key, self._backends.quotas)
        filterable = self._backends.index_of(used.active).filterable
        _, queued, stored, *_, (watched,) = await self._backends.database.run(
            [
                admission.admit(),
                Outbox(scope).queue_upsert(memory, vectors, admission, filterable=filterable),
                LongTermMemory(scope).insert(memory, admission, created_at=now),
                Audit(scope).stored(admission, now=now, tokens=embedded.tokens, milliseconds=embedding_ms),
                *([] if len(vectors) == len(used.configs) else [admission.leave_out()]),
                *([] if key is None else [admission.remember()]),
                watch_store(admission),
            ]
        )
        seen = self._backends.observe(watched)
        stored_before = None if stored else admission.check(watched)
        if not stored and stored_before is None:
            if seen is None:  # data without memories: whoever stores first decides with which config
                await self._backends.claim()
            return None
        if warn is not None:
            warn(admission.near(watched))
        if not stored:
            return stored_before
        memory_id, created_at = str(stored[0]["id"]), int(stored[0]["created_at"] or 0)
        for row in queued:
            name, revision = str(row["index_name"]), int(row["revision"] or 0)
            vector = IndexedVector(scope, memory_id, vectors[name], created_at, revision, memory.metadata)
            index = self._backends.index_of(used.by_index[name])
            await deliver(index, name, [vector], self._backends.acknowledgements, first_time=memory_id == new_id)
        return memory_id

    async def _shadow(self, content: str, config: EmbeddingConfig | None) -> dict[str, Vector]:
        """Embed for the config that is kept up to date beside the one in use; where that fails, leave it out."""
        if config is None:
            return {}
        try:
            embedder = self._backends.embedder_of(config)
            embedded = await embedder.embed([content], "document")
        except Unavailable as error:
            deferred("shadow", error)
            return {}
        return {config.index_name: embedded.vectors[0]}


async def _settled(attempt: Callable[[], Awaitable[_T | None]]) -> _T:
    """Try again while the attempt finds that another config is in use than was last seen."""
    for _ in range(_TRIES):
        done = await attempt()
        if done is not None:
            return done
    raise Unavailable("The embedding config in use is just being changed. Nothing was stored or found; try again.")
