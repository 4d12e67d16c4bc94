"""The only way in which memories are written: a batch of lines in one run. A store is a batch of one line.

The schema's gate (``schema.sql``) decides in the run itself whether a line is kept out; ``write_outcomes.py`` tells
what the gate's reasons mean.
"""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from app.domain.author import Author
from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs, Vector, encode
from app.domain.errors import Erasing, LongTermDisabled, QuotaExceeded, Unavailable
from app.domain.explicit import permitted
from app.domain.json_types import Json
from app.domain.memory import Memory, NewMemory, Scope, Tenant
from app.domain.moments import new_id
from app.domain.quotas import Use, near
from app.ports.database import Row, RunRefused
from app.ports.vector_index import IndexedVector
from app.services.memories.stored_again import ExistingMemory, merged_metadata
from app.services.memories.write_outcomes import MetadataDiffers, WriteOutcome, check_store, reasons, refused_outcomes
from app.services.tenant.backends import EmbeddingConfigChanged, TenantBackends
from app.storage import request_state
from app.storage.memories import Batch, MemoryWrite, write
from app.storage.outbox import PendingVectors, name_of
from app.storage.quotas import Quotas, usages
from app.storage.scoped import ScopedStatement
from app.storage.tiers.episodic import Episodic

Warn = Callable[[Sequence[Use]], None]
"""Takes the limits that a store has brought near their end."""

Keep = Callable[[Sequence[str]], None]
"""Takes the names of the fields that a memory keeps though a store of the same content has other values for them."""

Run = Callable[[Sequence[ScopedStatement]], Awaitable[list[list[Row]]]]

_MAX_TRIES = 3
"""Tries of a batch whose refusals have a reason that no longer holds when the reason is read."""

_MAX_MERGES = 10
"""Merges of a store whose content is stored with other metadata at the same time."""

_CHANGING = "What it depends on is just being changed. Try again."


class Writer:
    """Writes memories of one tenant, bound here."""

    def __init__(self, backends: TenantBackends, run: Run | None = None) -> None:
        """Take the tenant's backends; ``run`` replaces the database's own."""
        self._tenant = Tenant(backends.tenant_id)
        self._backends = backends
        self._run = run or backends.data.database.run
        self._quotas = Quotas(backends.tenant_id, backends.limits.quotas)

    async def store(
        self,
        scope: Scope,
        memory: NewMemory,
        key: str | None,
        warn: Warn | None = None,
        keep: Keep | None = None,
        *,
        patch: Mapping[str, Json] | None = None,
    ) -> str:
        """Embed and store a memory, and return the id of the memory that has its content.

        ``patch`` are the keys of metadata alone that change where the content is stored already; null takes one away.
        Its end stays then, and it stays forgotten where it was.

        Raises:
            EmbeddingConfigChanged: another config is in use than was last seen; nothing was written.
            Erasing, IdempotencyKeyReused, LongTermDisabled, NotFound, QuotaExceeded: nothing was written.
            Unauthenticated: the credential was revoked; nothing was written.
            Unavailable: as ``LongTermMemoryGateway.store`` says.
        """
        used, now = self._backends.data.configs, self._backends.clock()
        new = memory.of(scope, new_id(now), now)
        batch = Batch(
            self._tenant,
            [MemoryWrite(new, {}, {})],
            used,
            now,
            self._backends.limits.quotas,
            self._backends.author,
            is_store=True,
            filterable=self._backends.data.index_of(used.active).filterable,
            key=key,
            request_hash=memory.request_hash,
            run_id=memory.run_id,
            changes=patch is not None,
        )
        try:
            if self._backends.admission.refused_lately(scope.agent_id, now):
                await self._check(batch)
            line = wanted = await self._embedded(new, used)
            unchanged = list[str]()
            for _ in range(_MAX_MERGES):
                try:
                    (outcome,) = await self.write(replace(batch, lines=[line]), warn)
                    break
                except MetadataDiffers as other:
                    line, unchanged = _merged(wanted, other.existing, batch.author, patch)
            else:
                raise Unavailable(_CHANGING)
        except (Erasing, LongTermDisabled, QuotaExceeded):
            self._backends.admission.store_refused(scope.agent_id, now)
            raise
        assert outcome.holder is not None  # noqa: S101 - a store that is not refused has a memory
        if keep is not None:
            later = outcome.written and new.expires_at is not None and outcome.expires_at != new.expires_at
            keep([*unchanged, "expires_at"] if later else unchanged)
        await self._deliver(line, outcome, used)
        return outcome.holder

    async def _embedded(self, new: Memory, used: EmbeddingConfigs) -> MemoryWrite:
        """Return the line that writes a new memory, with its vectors for the configs in use."""
        started = time.perf_counter()
        embedded = await self._backends.models.embedder_of(used.active).embed([new.embedded_text], "document")
        milliseconds = round((time.perf_counter() - started) * 1000, 1)
        (shadow,) = await self._backends.models.shadow_vectors([new.embedded_text], used.shadow)
        vectors = {used.active.index_name: embedded.vectors[0], **shadow}
        detail = audited(used.active) | {"tokens": embedded.tokens, "embedding_ms": milliseconds}
        return MemoryWrite(new, vectors, detail, stated=permitted(new, self._backends.author))

    async def _deliver(self, line: MemoryWrite, outcome: WriteOutcome, used: EmbeddingConfigs) -> None:
        """Begin to deliver the vectors that a store has queued; the indexer delivers those for which this fails."""
        memory, id_ = line.memory, outcome.holder or line.memory.id
        for name, revision in outcome.revisions.items():
            vector = IndexedVector(memory.scope, id_, line.vectors[name], outcome.created_at, revision, memory.metadata)
            index = self._backends.data.index_of(used.by_index[name])
            if not index.visible_at_once:
                self._have(memory.scope, name, name_of(id_, revision), line.vectors[name])
            await self._backends.data.deliveries.deliver(index, name, [vector], first_time=id_ == memory.id)

    def _have(self, scope: Scope, index_name: str, name: str, vector: Vector) -> None:
        """Keep a queued vector for the recalls of this process."""
        cache = self._backends.data.caches.pending
        pending = cache.find((scope, index_name)) or PendingVectors(len(vector))
        pending.add(name, encode(vector))
        cache.put(scope.tenant_id, (scope, index_name), pending, pending.size)

    async def write(self, batch: Batch, warn: Warn | None = None) -> list[WriteOutcome]:
        """Write the lines of a batch that may be written, and return each line's outcome; raises as ``store`` does.

        Lines of an import that cannot be written are left out, and the others are written.
        """
        outcomes: dict[int, WriteOutcome] = {}
        tries = _MAX_TRIES
        while tries:
            waiting = [number for number in range(len(batch.lines)) if number not in outcomes]
            rest = replace(batch, lines=[batch.lines[number] for number in waiting]) if outcomes else batch
            try:
                rows = await self._run(self._statements(rest, warn))
            except RunRefused as refusal:
                settled = await self._refused(refusal, rest, warn)
                tries -= not settled
            else:
                settled = dict(enumerate(self._written(rest, rows, warn)))
            outcomes |= {waiting[number]: outcome for number, outcome in settled.items()}
            if len(outcomes) == len(batch.lines):
                return [outcomes[number] for number in range(len(batch.lines))]
        raise Unavailable(_CHANGING)

    async def _check(self, batch: Batch) -> None:
        """Check, before a store is embedded, that no limit is reached and the agent's long-term memory is switched on.

        The check only reads: the gate still decides about a store that passes. Raises as ``store`` does.
        """
        disabled = request_state.read_for_recall(batch.lines[0].memory.scope)
        (state,), *rows = await self._run([disabled, *reasons(batch, self._quotas)])
        if state["disabled"]:
            raise LongTermDisabled
        if not rows[-1]:  # else a store with the same key was made before
            check_store(batch, rows)

    def _statements(self, batch: Batch, warn: Warn | None) -> list[ScopedStatement]:
        """Return the run of a batch: the statements that write, then reads of the limits and the request state."""
        quotas = [] if warn is None else [self._quotas.read_each(batch.agents)]
        return [*_admission(batch), *write(batch), *quotas, request_state.read(self._tenant)]

    def _written(self, batch: Batch, rows: Sequence[Sequence[Row]], warn: Warn | None) -> list[WriteOutcome]:
        """Return the outcome of each line of a batch whose run was made."""
        _, queued, written, *others = rows[len(_admission(batch)) :]
        self._backends.data.observe(others[-1][0])
        if warn is not None:
            warn(near(usages(others[-2])))
        outcomes = _outcomes(batch, queued, written)
        self._compare_later(batch, outcomes)
        return outcomes

    def _compare_later(self, batch: Batch, outcomes: Sequence[WriteOutcome]) -> None:
        """Have the reader compare the memories whose statements wait for a comparison."""
        waiting: defaultdict[Scope, list[str]] = defaultdict(list)
        for line, outcome in zip(batch.lines, outcomes, strict=True):
            if line.stated.waits and outcome.holder is not None:
                waiting[line.memory.scope].append(outcome.holder)
        for scope, ids in waiting.items():
            self._backends.models.compared_later(scope, ids)

    async def _refused(self, refusal: RunRefused, batch: Batch, warn: Warn | None) -> dict[int, WriteOutcome]:
        """Read what the gate's reason means, and return the outcomes of the lines that are not to be tried again."""
        (state,), *rows = await self._run([request_state.read(self._tenant), *reasons(batch, self._quotas)])
        seen = self._backends.data.observe(state)
        if refusal.reason == "config_changed":
            if seen is None:  # data without memories: the first store decides the config
                await self._backends.data.claim()
            raise EmbeddingConfigChanged
        settled = refused_outcomes(refusal, batch, rows)
        if settled and warn is not None:
            warn(near(usages(rows[0])))
        return settled


def audited(config: EmbeddingConfig) -> dict[str, Json]:
    """Return the audit's description of the config that a vector was made with."""
    return {"provider": config.provider, "model": config.model, "dimensions": config.dimensions}


def _merged(
    wanted: MemoryWrite, existing: ExistingMemory | None, author: Author, patch: Mapping[str, Json] | None
) -> tuple[MemoryWrite, list[str]]:
    """Return the line that changes an existing memory as far as the author may, and the keys that keep their values.

    Without an existing memory the line is the wanted one.
    """
    if existing is None:
        return wanted, []
    result = merged_metadata(existing, wanted.memory.metadata, author, patch)
    memory = replace(wanted.memory, metadata=result.metadata)
    line = replace(
        wanted,
        memory=memory,
        stated=permitted(memory, author),
        detail={**wanted.detail, **result.changes},
        merged_from=existing.metadata_json,
        was_expired=existing.expired,
        later_keys=result.later_keys,
    )
    return line, [f"metadata.{key}" for key in result.unchanged]


def _outcomes(batch: Batch, queued: Sequence[Row], written: Sequence[Row]) -> list[WriteOutcome]:
    """Return the outcome of each line, by the vectors that the run has queued and the memories that it has written."""
    rows = {(row["agent_id"], row["content_hash"]): row for row in written}
    by_id = {row["id"]: row for row in written}  # where a run is made again, its memory may be superseded meanwhile
    revisions: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in queued:
        revisions[str(row["id"])][str(row["index_name"])] = int(row["revision"] or 0)
    outcomes: list[WriteOutcome] = []
    for memory in (line.memory for line in batch.lines):
        if memory.learned is not None and memory.id not in by_id:
            outcomes.append(WriteOutcome())
            continue
        row = rows.get((memory.scope.agent_id, memory.content_hash)) or by_id[memory.id]
        id_ = str(row["id"])
        outcomes.append(
            WriteOutcome(
                id_,
                written=True,
                created_at=int(row["created_at"] or 0),
                expires_at=None if row["expires_at"] is None else int(row["expires_at"]),
                revisions=revisions[id_],
            )
        )
    return outcomes


def _admission(batch: Batch) -> list[ScopedStatement]:
    """Return the statement that refuses a store under a run that its agent does not have; none without a run."""
    if batch.run_id is None:
        return []
    scope = batch.lines[0].memory.scope
    return [Episodic(scope.tenant_id).admit(batch.run_id, scope.agent_id)]
