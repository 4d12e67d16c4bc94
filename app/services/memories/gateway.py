"""The gateway: one tenant's way to its memories. A gateway is made for each request."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter

from ulid import ULID

from app.domain import limits
from app.domain.audit import RecallNote
from app.domain.canaries import RESERVED_AGENTS
from app.domain.delivery import OutboxKey
from app.domain.errors import NotFound
from app.domain.json_types import Json
from app.domain.memory import NewMemory, Scope, Tenant
from app.domain.moments import moment
from app.domain.query import Query
from app.domain.request_note import MemoryOperation
from app.retrieval.query.analysis import PendingAnalysis
from app.services.memories.explain import Explainer, Explanation
from app.services.memories.recall import Recall, search, select
from app.services.memories.recall_model import RecallModel
from app.services.memories.write import Keep, Warn, Writer
from app.services.tenant.backends import TenantBackends, settled
from app.storage import request_state
from app.storage.deletions import delete
from app.storage.erasures import Erasure, Erasures, erasure


class LongTermMemoryGateway:
    """Stores, recalls and deletes the memories of one tenant's agents.

    The tenant is bound here and no method takes another. A gateway owns no sockets and keeps nothing
    between calls, so it needs no closing.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends; they bind the tenant."""
        self._tenant_id = backends.tenant_id
        self._backends = backends

    async def store(
        self,
        agent_id: str,
        memory: NewMemory,
        *,
        idempotency_key: str | None = None,
        warn: Warn | None = None,
        keep: Keep | None = None,
        patch: Mapping[str, Json] | None = None,
    ) -> str:
        """Store a memory and return its id; the same content again is the same memory.

        A store of the same content extends the memory's life and adds metadata keys; only an author who may replace
        shortens the life and changes keys.

        Once this returns, every recall finds the memory, whatever becomes of the index. The same request with the same
        key within 24 hours is answered as stored and changes nothing, even if the memory has been deleted. ``patch``
        are the keys of metadata that change alone where the content is stored already; null takes one away. Its end
        stays then, and it stays forgotten where it was.

        Raises:
            InvalidRequest: a field is over its limits, or has content that is not kept; nothing was written.
            Forbidden: the memory names the system as its speaker, and the author may not; nothing was written.
            NotFound: the agent does not have the run that the request names; nothing was written.
            IdempotencyKeyReused: another request has used the key; nothing was written.
            Unauthenticated: the credential was revoked meanwhile; nothing was written.
            Erasing: the agent or the tenant is being erased; nothing was written.
            LongTermDisabled: the agent's long-term memory is switched off; nothing was written.
            QuotaExceeded: the agent or the tenant has reached a limit; nothing was written.
            EmbeddingConfigMismatch: the data was embedded with another config; nothing was written.
            UpstreamTimeout, UpstreamUnavailable, UpstreamRejected: the memory may be stored; a retry is safe.
            Unavailable: the embedder or the database does not answer; nothing was written.
        """
        limits.check(
            ("agent_id", limits.AGENT_ID, agent_id),
            ("Idempotency-Key", limits.IDEMPOTENCY_KEY, idempotency_key),
            ("expires_at", limits.future(self._backends.clock()), memory.expires_at),
        )
        self._backends.author.check_speaker(memory.metadata)
        memory = await self._backends.screened(memory)
        scope, memory = Scope(self._tenant_id, agent_id), replace(memory, run_id=memory.run_id or self._backends.run_id)
        writer = Writer(self._backends)
        operation = MemoryOperation("create_memory", self._tenant_id, agent_id, count=1)
        with self._backends.audit.operation(operation), self._backends.admission.request():
            stored = await settled(lambda: writer.store(scope, memory, idempotency_key, warn, keep, patch=patch))
            operation.record_id, operation.records = stored, lambda: [(stored, memory.content, None)]
        return stored

    async def recall(
        self, agent_id: str, query: Query, analysing: PendingAnalysis | None = None, *, run_id: str | None = None
    ) -> Recall:
        """Return the memories that answer the query best, of those that pass its filter.

        Unless the recall is strict, a recall goes on without a part that does not answer, and ``degraded`` names the
        part. ``analysing`` is a language model's analysis of the query, under way. ``run_id`` is the run whose trail
        tells of the recall; without it the run of the request is. Whether that run exists is not looked up.

        Raises:
            InvalidRequest: a field is over its limits.
            LongTermDisabled: the agent's long-term memory is switched off.
            QuotaExceeded: the agent or the tenant has made as many recalls in this minute as it may.
            Unavailable: there is no answer, or a part of a strict recall did not answer.
        """
        run_id = run_id or self._backends.run_id
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("run_id", limits.RUN_ID, run_id))
        scope = Scope(self._tenant_id, agent_id)
        self._backends.admission.recall(scope.agent_id, self._backends.clock())
        author = self._backends.author
        note = RecallNote(self._tenant_id, agent_id, author.channel, run_id, author.credential_id)
        started = perf_counter()
        operation = MemoryOperation("search_memory", self._tenant_id, agent_id, query.text)
        # A model that analyses the query takes most of the time: long work need not wait for such a recall.
        with (
            self._backends.audit.operation(operation),
            self._backends.admission.request() if analysing is None else nullcontext(),
        ):
            found = await settled(lambda: search(self._backends, scope, query, analysing=analysing, note=note))
            recall = select(found, query, note)
            operation.count = len(recall.entries)
            operation.records = lambda: [(entry.id, entry.content, entry.score) for entry in recall.entries]
        note.ms = (perf_counter() - started) * 1000
        self._backends.audit.recalled(note)
        return recall

    async def recall_analysed(self, agent_id: str, query: Query) -> Recall:
        """Recall as ``recall`` does, with the analysis of the query by the tenant's language model.

        Where no model is set, or queries are not analysed, the result is that of ``recall``. Raises as ``recall`` does.
        """
        model = self._backends.models.model
        if model is None or agent_id in RESERVED_AGENTS:  # a probe costs nobody anything
            return await self.recall(agent_id, query)
        now = self._backends.clock() if query.reference_time is None else query.reference_time
        async with RecallModel(self._backends, agent_id, model).analysing(query.text, now) as analysing:
            return await self.recall(agent_id, query, analysing)

    async def explain(self, agent_id: str, query: Query, memory_id: str) -> Explanation:
        """Explain why a memory is, or is not, among the entries of a recall, and which query would return it.

        Raises:
            NotFound: the agent has no such memory.
            InvalidRequest: a field is over its limits, or the id is malformed.
            LongTermDisabled: the agent's long-term memory is switched off.
            QuotaExceeded: the agent or the tenant has made as many recalls in this minute as it may.
            Unavailable: there is no answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        scope = Scope(self._tenant_id, agent_id)
        self._backends.admission.recall(scope.agent_id, self._backends.clock())
        explainer = Explainer(self._backends)
        return await settled(lambda: explainer.explain(scope, query, memory_id))

    async def delete(self, agent_id: str, memory_id: str) -> None:
        """Delete a memory, and the memories that were learned of it. It is no error where the scope has no such memory.

        Once this returns no recall finds the memory, even while an index still has its vector.

        Raises:
            InvalidRequest: an id is malformed.
            Unavailable: the database does not answer; deleting the memory again is safe.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        scope = Scope(self._tenant_id, agent_id)
        operation = MemoryOperation("delete_memory", self._tenant_id, agent_id, record_id=memory_id, count=1)
        with self._backends.audit.operation(operation):
            _, queued, _, deleted, (state,) = await self._backends.data.database.run(
                [
                    *delete(scope, memory_id, self._backends.author, now=self._backends.clock()),
                    request_state.read(Tenant(self._tenant_id)),
                ]
            )
        self._backends.data.observe(state)
        if not deleted:
            return
        of_itself = [row for row in queued if row["id"] == memory_id]  # the rest is the indexer's
        revisions = {str(row["index_name"]): int(row["revision"] or 0) for row in of_itself}
        for config in self._backends.data.configs.configs:
            if config.index_name in revisions:
                key = OutboxKey(scope, memory_id, config.index_name, revisions[config.index_name])
                index = self._backends.data.index_of(config)
                await self._backends.data.deliveries.remove(index, key)

    async def erase(self, agent_id: str | None) -> Erasure:
        """Begin to erase an agent, or with None the whole tenant. Return the erasure, or one under way that covers it.

        From now until the receipt is written nothing is stored in the scope. Where the scope holds no data, the
        receipt is written in the same run.

        Raises:
            InvalidRequest: the agent's id is malformed.
            Unavailable: the database does not answer; asking again is safe.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        new_id = str(ULID.from_datetime(moment(self._backends.clock())))
        database = self._backends.data.database
        accept = Erasures(self._tenant_id).accept(new_id, agent_id, history_days=database.history_days)
        operation = MemoryOperation("delete_memory_store", self._tenant_id, agent_id or "")
        with self._backends.audit.operation(operation):
            *_, (row,) = await database.run(accept)
        accepted = erasure(row)
        if accepted.status == "running":
            self._backends.data.acknowledgements.wake()
        return accepted

    async def erasure(self, erasure_id: str, *, only_agent: str | None = None) -> Erasure:
        """Return the state of an erasure; with ``only_agent`` the erasure has to be one of that agent.

        Raises:
            NotFound: the tenant has no such erasure.
            InvalidRequest: the id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("operation_id", limits.OPERATION_ID, erasure_id))
        (rows,) = await self._backends.data.database.run([Erasures(self._tenant_id).read(erasure_id, only_agent)])
        if not rows:
            raise NotFound("There is no such operation.")
        return erasure(rows[0])

    async def erasures(self, only_agent: str | None, limit: int) -> list[Erasure]:
        """Return the tenant's newest erasures, at most ``limit``; with ``only_agent``, only those of that agent.

        Raises:
            InvalidRequest: the limit is not from 1 to 100.
            Unavailable: the database does not answer.
        """
        limits.check(("limit", limits.LIST_LIMIT, limit))
        (rows,) = await self._backends.data.database.run([Erasures(self._tenant_id).newest(only_agent, limit)])
        return [erasure(row) for row in rows]
