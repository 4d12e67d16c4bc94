"""The one way in which memories are written: a batch of lines in one run. A store is a batch of one line.

What may keep a line out is decided by the schema's gate (``0011_writers.sql``), in the run itself; this module
says what its reasons mean.
"""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal

from ulid import ULID

from app.domain.author import Author
from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import Erasing, LongTermDisabled, MemoryGatewayError, QuotaExceeded, Unavailable
from app.domain.explicit import permitted
from app.domain.json_types import Json
from app.domain.memory import NewMemory, Scope, Tenant
from app.domain.moments import moment
from app.domain.quotas import Use
from app.ports.database import Row, RunRefused
from app.ports.vector_index import IndexedVector
from app.services.access.credentials import refused
from app.services.memories.stored_again import HeldMemory, stored_again
from app.services.memories.write_outcomes import (
    WriteOutcome,
    ingest_outcomes,
    near,
    settle,
    store_outcome,
    write_outcomes,
)
from app.services.tenant.backends import EmbeddingConfigChanged, TenantBackends
from app.services.tiers.working_refusals import no_such_run
from app.storage import request_state
from app.storage.batches import Bulk
from app.storage.memories import Batch, MemoryWrite, present, remembered, write
from app.storage.quotas import Quotas, usages
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.tiers.episodic import Episodic

Warn = Callable[[Sequence[Use]], None]
"""Is told of the limits of which a store has left little."""

Keep = Callable[[Sequence[str]], None]
"""Is told which fields of a memory stay as they are, though a store of the same content asked for others."""

Run = Callable[[Sequence[ScopedStatement]], Awaitable[list[list[Row]]]]

_MAX_TRIES = 3
"""Of a batch that is refused for a reason which no longer holds when it is looked into."""

_MAX_MERGES = 10
"""Of a store whose content others store with other metadata at the same time."""

_CHANGING = "What it depends on is just being changed. Try again."


class HeldOtherwise(Exception):
    """The content is there with other metadata than was last read."""

    def __init__(self, held: HeldMemory | None) -> None:
        """Keep what was found."""
        self.held = held
        """The memory as it is now; None: it is gone."""


class Writer:
    """Writes memories of one tenant, bound here."""

    def __init__(self, backends: TenantBackends, run: Run | None = None) -> None:
        """Take the tenant's backends; ``run`` replaces the database's own."""
        self._tenant = Tenant(backends.tenant_id)
        self._backends = backends
        self._run = run or backends.data.database.run
        self._quotas = Quotas(backends.tenant_id, backends.limits.quotas)

    async def store(
        self, scope: Scope, memory: NewMemory, key: str | None, warn: Warn | None = None, keep: Keep | None = None
    ) -> str:
        """Embed and store a memory, and return the id of the memory that has its content.

        Raises:
            EmbeddingConfigChanged: another config is in use than was last seen; nothing was written.
            Erasing, IdempotencyKeyReused, LongTermDisabled, NotFound, QuotaExceeded: nothing was written.
            Unauthenticated: the credential was revoked; nothing was written.
            Unavailable: as ``LongTermMemoryGateway.store`` says.
        """
        used = self._backends.data.configs
        now = self._backends.clock()
        new = memory.of(scope, str(ULID.from_datetime(moment(now))), now)
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
        )
        try:
            if self._backends.admission.refused_lately(scope.agent_id, now):
                await self._ask(batch)
            started = time.perf_counter()
            embedded = await self._backends.models.embedder_of(used.active).embed([new.embedded_text], "document")
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            shadow = await self._backends.models.shadow_vectors([new.embedded_text], used.shadow)
            vectors = {used.active.index_name: embedded.vectors[0], **shadow[0]}
            detail = audited(used.active) | {"tokens": embedded.tokens, "embedding_ms": milliseconds}
            stated = MemoryWrite(new, vectors, detail, stated=permitted(new, self._backends.author))
            line, outcome, kept = await self._store(replace(batch, lines=[stated]), warn)
        except (Erasing, LongTermDisabled, QuotaExceeded):
            self._backends.admission.store_refused(scope.agent_id, now)
            raise
        assert outcome.holder is not None  # noqa: S101 - a store that is not refused has its memory
        if keep is not None:
            keep(kept)
        await self._deliver(line, outcome, used)
        return outcome.holder

    async def _deliver(self, line: MemoryWrite, outcome: WriteOutcome, used: EmbeddingConfigs) -> None:
        """Begin to bring what a store has queued to the indexes; what fails is left to the indexer."""
        memory, id_ = line.memory, outcome.holder or line.memory.id
        for name, revision in outcome.revisions.items():
            vector = IndexedVector(memory.scope, id_, line.vectors[name], outcome.created_at, revision, memory.metadata)
            index = self._backends.data.index_of(used.by_index[name])
            await self._backends.data.deliveries.deliver(
                index, name, [vector], self._backends.data.acknowledgements, first_time=id_ == memory.id
            )

    async def _store(self, batch: Batch, warn: Warn | None) -> tuple[MemoryWrite, WriteOutcome, list[str]]:
        """Write a store's line; where its content is there with other metadata, what the author may make of both.

        Returns the line that was written, its outcome, and the fields that stay as they are though others were asked
        for. Raises as ``store`` does.
        """
        (wanted,) = batch.lines
        line, kept = wanted, list[str]()
        for _ in range(_MAX_MERGES):
            try:
                (outcome,) = await self.write(batch if line is wanted else replace(batch, lines=[line]), warn)
            except HeldOtherwise as found:
                line, kept = wanted, []
                if found.held is not None:
                    line, kept = _merged(wanted, found.held, batch.author)
                continue
            expires_at = wanted.memory.expires_at
            if outcome.written and expires_at is not None and outcome.expires_at != expires_at:
                kept = [*kept, "expires_at"]
            return line, outcome, kept
        raise Unavailable(_CHANGING)

    async def write(self, batch: Batch, warn: Warn | None = None) -> list[WriteOutcome]:
        """Write what may be written of a batch, and say what became of each line; raises as ``store`` does.

        Lines of an import that cannot be written are left out and the others written without them.
        """
        outcomes: dict[int, WriteOutcome] = {}
        tries = _MAX_TRIES
        while tries:
            waiting = [number for number in range(len(batch.lines)) if number not in outcomes]
            rest = replace(batch, lines=[batch.lines[number] for number in waiting]) if outcomes else batch
            try:
                found = dict(enumerate(await self._write(rest, warn)))
            except RunRefused as refusal:
                found = await self._refused(refusal, rest, warn)
                tries -= not found
            outcomes |= {waiting[number]: outcome for number, outcome in found.items()}
            if len(outcomes) == len(batch.lines):
                return [outcomes[number] for number in range(len(batch.lines))]
        raise Unavailable(_CHANGING)

    async def _ask(self, batch: Batch) -> None:
        """Ask whether a store is over a limit or its agent switched off, before anything else is done for it.

        It only reads: what it lets pass, the gate still decides about. Raises as ``store`` does.
        """
        disabled = request_state.read_for_recall(batch.lines[0].memory.scope)
        (state,), *rows = await self._run([disabled, *self._why_no_store(batch)])
        if state["disabled"]:
            raise LongTermDisabled
        if not rows[-1]:  # else it was stored before, with the same key
            store_outcome("quota_exceeded", batch, rows)

    async def _write(self, batch: Batch, warn: Warn | None) -> list[WriteOutcome]:
        """Make the run of a batch."""
        quotas = [] if warn is None else [self._quotas.read_each(_agents(batch))]
        first = _of_a_run(batch)
        run = [*first, *write(batch), *quotas, request_state.read(self._tenant)]
        _, queued, written, *others = (await self._run(run))[len(first) :]
        self._backends.data.observe(others[-1][0])
        if warn is not None:
            warn(near(usages(others[-2])))
        outcomes = write_outcomes(batch, queued, written)
        self._compare_later(batch, outcomes)
        return outcomes

    def _compare_later(self, batch: Batch, outcomes: Sequence[WriteOutcome]) -> None:
        """Have the reader compare the memories that wait for it."""
        waiting: defaultdict[Scope, list[str]] = defaultdict(list)
        for line, outcome in zip(batch.lines, outcomes, strict=True):
            if line.stated.waits and outcome.holder is not None:
                waiting[line.memory.scope].append(outcome.holder)
        for scope, ids in waiting.items():
            self._backends.models.compared_later(scope, ids)

    async def _refused(self, refusal: RunRefused, batch: Batch, warn: Warn | None) -> dict[int, WriteOutcome]:
        """Find out what the gate's reason means; return what became of the lines that are not to be tried again."""
        why = self._why_not_these(batch) if _are_many(batch) else self._why_no_store(batch)
        (state,), *rows = await self._run([request_state.read(self._tenant), *why])
        seen = self._backends.data.observe(state)
        match refusal.reason:
            case "erasing" | "disabled" | "revoked" | "no_run" as reason:
                raise _kept_out(reason, batch)
            case "config_changed":
                if seen is None:  # data without memories: whoever stores first decides with which config
                    await self._backends.data.claim()
                raise EmbeddingConfigChanged
            case "differs":
                held = [] if _are_many(batch) else rows[1]
                raise HeldOtherwise(read_row(HeldMemory, held[0]) if held else None)
            case "key_used" | "deleted" | "stored" | "taken" | "quota_exceeded":
                return _settled(refusal.reason, batch, rows, warn)
            case _:
                raise refusal

    def _why_no_store(self, batch: Batch) -> list[ScopedStatement]:
        memory = batch.lines[0].memory
        return [
            self._quotas.read(memory.scope.agent_id),
            present(memory.scope, memory.content_hash),
            remembered(memory.scope, batch.key),
        ]

    def _why_not_these(self, batch: Batch) -> list[ScopedStatement]:
        bulk = Bulk(self._tenant.tenant_id)
        memories = [line.memory for line in batch.lines]
        ids = [memory.id for memory in memories]
        return [
            self._quotas.read_each(_agents(batch)),
            bulk.by_content([(memory.scope.agent_id, memory.content_hash) for memory in memories]),
            bulk.by_id(ids),
            bulk.taken(ids),
            bulk.removed(ids),
        ]


def audited(config: EmbeddingConfig) -> dict[str, Json]:
    """Return what the audit says of the config that a vector was made with."""
    return {"provider": config.provider, "model": config.model, "dimensions": config.dimensions}


def _merged(wanted: MemoryWrite, held: HeldMemory, author: Author) -> tuple[MemoryWrite, list[str]]:
    """Return the line that makes of a memory that is there what the author may, and the keys that keep their values."""
    result = stored_again(held, wanted.memory.metadata, author)
    memory = replace(wanted.memory, metadata=result.metadata)
    line = replace(
        wanted,
        memory=memory,
        stated=permitted(memory, author),
        detail={**wanted.detail, **result.changes},
        merged_from=held.metadata_json,
        was_expired=held.expired,
        later_keys=result.later_keys,
    )
    return line, [f"metadata.{key}" for key in result.kept]


def _settled(reason: str, batch: Batch, rows: Sequence[Sequence[Row]], warn: Warn | None) -> dict[int, WriteOutcome]:
    """Return what became of the lines that are not to be tried again."""
    if not batch.is_store:
        return settle(reason, batch, rows)
    if _are_many(batch):
        return ingest_outcomes(reason, batch, rows)
    outcome = store_outcome(reason, batch, rows)
    if outcome is None:
        return {}
    if warn is not None:
        warn(near(usages(rows[0])))
    return {0: outcome}


def _are_many(batch: Batch) -> bool:
    """Tell whether it is a batch of an import or of an ingestion."""
    return not batch.is_store or batch.ingestion is not None


def _kept_out(reason: Literal["erasing", "disabled", "revoked", "no_run"], batch: Batch) -> MemoryGatewayError:
    """Return the error of a batch that nothing of is written."""
    match reason:
        case "erasing":
            again = "Import" if not batch.is_store else "Store" if batch.ingestion is None else "Ingest"
            return Erasing(
                f"The agent, or its tenant, is being erased. {again} again once the erasure has its receipt."
            )
        case "disabled":
            return LongTermDisabled()
        case "revoked":
            return refused("it was revoked")
        case "no_run":
            return no_such_run()


def _of_a_run(batch: Batch) -> list[ScopedStatement]:
    """Refuse a store under a run that its agent does not have."""
    if batch.run_id is None:
        return []
    scope = batch.lines[0].memory.scope
    return [Episodic(scope.tenant_id).admit(batch.run_id, scope.agent_id)]


def _agents(batch: Batch) -> list[str]:
    return sorted({line.memory.scope.agent_id for line in batch.lines})
