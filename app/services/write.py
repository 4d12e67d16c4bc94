"""The one way in which memories are written: a batch of lines in one run. A store is a batch of one line.

What may keep a line out is decided by the schema's gate (``0010_write_admission.sql``), in the run itself; this module
says what its reasons mean.
"""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ulid import ULID

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import Erasing, IdempotencyKeyReused, LongTermDisabled, QuotaExceeded, Unavailable
from app.domain.json_types import Json
from app.domain.memory import NewMemory, Scope, Tenant
from app.domain.moments import moment
from app.domain.quotas import Usage, Use
from app.indexing.delivery import deferred, deliver
from app.ports.database import Row, RunRefused
from app.ports.vector_index import IndexedVector
from app.services.backends import EmbeddingConfigChanged, TenantBackends
from app.storage import request_state
from app.storage.batches import Bulk
from app.storage.memories import Batch, Line, present, remembered, totals, write
from app.storage.quotas import Quotas, usages
from app.storage.scoped import ScopedStatement

Warn = Callable[[Sequence[Use]], None]
"""Is told of the limits of which a store has left little."""

Run = Callable[[Sequence[ScopedStatement]], Awaitable[list[list[Row]]]]

WARN_FROM = 0.8
"""The part of a limit from which a store is answered with a warning."""

_MAX_TRIES = 3
"""Of a batch that is refused for a reason which no longer holds when it is looked into."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a line: which memory has its content now, or why none was written."""

    holder: str | None = None
    full: bool = False
    """Whether it is over a limit; where it is not and nothing holds its content, its id was used for something else."""
    created_at: int = 0
    revisions: Mapping[str, int] = field(default_factory=dict)
    """The revision of each vector that was queued, by index name."""


class Writer:
    """Writes memories of one tenant, bound here."""

    def __init__(self, backends: TenantBackends, run: Run | None = None) -> None:
        """Take the tenant's backends; ``run`` replaces the database's own."""
        self._tenant = Tenant(backends.tenant_id)
        self._backends = backends
        self._run = run or backends.database.run
        self._quotas = Quotas(backends.tenant_id, backends.quotas)

    async def store(self, scope: Scope, memory: NewMemory, key: str | None, warn: Warn | None) -> str:
        """Embed and store a memory, and return the id of the memory that has its content.

        Raises:
            EmbeddingConfigChanged: another config is in use than was last seen; nothing was written.
            Erasing, IdempotencyKeyReused, LongTermDisabled, QuotaExceeded: nothing was written.
            Unavailable: as ``LongTermMemoryGateway.store`` says.
        """
        used = self._backends.configs
        now = self._backends.clock()
        new = memory.of(scope, str(ULID.from_datetime(moment(now))), now)
        batch = Batch(
            self._tenant,
            [Line(new, {}, {})],
            used,
            now,
            self._backends.quotas,
            is_store=True,
            filterable=self._backends.index_of(used.active).filterable,
            key=key,
            request_hash=memory.request_hash,
        )
        try:
            if self._backends.refusals.lately(scope, now):
                await self._ask(batch)
            started = time.perf_counter()
            embedded = await self._backends.embedder_of(used.active).embed([memory.content], "document")
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            vectors = {used.active.index_name: embedded.vectors[0]} | await self._shadow(memory.content, used.shadow)
            detail = audited(used.active) | {"tokens": embedded.tokens, "embedding_ms": milliseconds}
            (outcome,) = await self.write(replace(batch, lines=[Line(new, vectors, detail)]), warn)
        except (Erasing, LongTermDisabled, QuotaExceeded):
            self._backends.refusals.note(scope, now)
            raise
        assert outcome.holder is not None  # noqa: S101 - a store that is not refused has its memory
        for name, revision in outcome.revisions.items():
            vector = IndexedVector(scope, outcome.holder, vectors[name], outcome.created_at, revision, memory.metadata)
            index, first_time = self._backends.index_of(used.by_index[name]), outcome.holder == new.id
            await deliver(index, name, [vector], self._backends.acknowledgements, first_time=first_time)
        return outcome.holder

    async def write(self, batch: Batch, warn: Warn | None = None) -> list[Outcome]:
        """Write what may be written of a batch, and say what became of each line; raises as ``store`` does.

        Lines of an import that cannot be written are left out and the others written without them.
        """
        outcomes: dict[int, Outcome] = {}
        tries = _MAX_TRIES
        while tries:
            waiting = [number for number in range(len(batch.lines)) if number not in outcomes]
            rest = replace(batch, lines=[batch.lines[number] for number in waiting])
            try:
                found = dict(enumerate(await self._write(rest, warn)))
            except RunRefused as refusal:
                found = await self._refused(refusal, rest, warn)
                tries -= not found
            outcomes |= {waiting[number]: outcome for number, outcome in found.items()}
            if len(outcomes) == len(batch.lines):
                return [outcomes[number] for number in range(len(batch.lines))]
        raise Unavailable("What it depends on is just being changed. Try again.")

    async def _ask(self, batch: Batch) -> None:
        """Ask whether a store is over a limit or its agent switched off, before anything else is done for it.

        It only reads: what it lets pass, the gate still decides about. Raises as ``store`` does.
        """
        disabled = request_state.read_for_recall(batch.lines[0].memory.scope)
        (state,), *rows = await self._run([disabled, *self._why_no_store(batch)])
        if state["disabled"]:
            raise LongTermDisabled
        if not rows[-1]:  # else it was stored before, with the same key
            _store_outcome("quota_exceeded", batch, rows)

    async def _write(self, batch: Batch, warn: Warn | None) -> list[Outcome]:
        """Make the run of a batch."""
        quotas = [] if warn is None else [self._quotas.read_each(_agents(batch))]
        run = [*write(batch), *quotas, request_state.read(self._tenant)]
        _, queued, written, *others = await self._run(run)
        self._backends.observe(others[-1][0])
        if warn is not None:
            warn(_near(usages(others[-2])))
        rows = {(row["agent_id"], row["content_hash"]): row for row in written}
        revisions: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for row in queued:
            revisions[str(row["id"])][str(row["index_name"])] = int(row["revision"] or 0)
        outcomes: list[Outcome] = []
        for memory in (line.memory for line in batch.lines):
            row = rows[memory.scope.agent_id, memory.content_hash]
            id_ = str(row["id"])
            outcomes.append(Outcome(id_, created_at=int(row["created_at"] or 0), revisions=revisions[id_]))
        return outcomes

    async def _refused(self, refusal: RunRefused, batch: Batch, warn: Warn | None) -> dict[int, Outcome]:
        """Find out what the gate's reason means; return what became of the lines that are not to be tried again."""
        why = self._why_no_store(batch) if batch.is_store else self._why_no_import(batch)
        (state,), *rows = await self._run([request_state.read(self._tenant), *why])
        seen = self._backends.observe(state)
        match refusal.reason:
            case "erasing":
                again = "Store" if batch.is_store else "Import"
                raise Erasing(
                    f"The agent, or its tenant, is being erased. {again} again once the erasure has its receipt."
                )
            case "disabled":
                raise LongTermDisabled
            case "config_changed":
                if seen is None:  # data without memories: whoever stores first decides with which config
                    await self._backends.claim()
                raise EmbeddingConfigChanged
            case "key_used" | "deleted" | "stored" | "taken" | "quota_exceeded":
                if not batch.is_store:
                    return _settle(refusal.reason, batch.lines, rows)
                outcome = _store_outcome(refusal.reason, batch, rows)
                if outcome is not None and warn is not None:
                    warn(_near(usages(rows[0])))
                return {} if outcome is None else {0: outcome}
            case _:
                raise refusal

    def _why_no_store(self, batch: Batch) -> list[ScopedStatement]:
        memory = batch.lines[0].memory
        return [
            self._quotas.read(memory.scope.agent_id),
            present(memory.scope, memory.content_hash),
            remembered(memory.scope, batch.key),
        ]

    def _why_no_import(self, batch: Batch) -> list[ScopedStatement]:
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

    async def _shadow(self, content: str, config: EmbeddingConfig | None) -> dict[str, Vector]:
        """Embed for the config that is kept up to date beside the active one; where that fails, leave it out."""
        if config is None:
            return {}
        try:
            embedded = await self._backends.embedder_of(config).embed([content], "document")
        except Unavailable as error:
            deferred("shadow", error)
            return {}
        return {config.index_name: embedded.vectors[0]}


def audited(config: EmbeddingConfig) -> dict[str, Json]:
    """Return what the audit says of the config that a vector was made with."""
    return {"provider": config.provider, "model": config.model, "dimensions": config.dimensions}


def _agents(batch: Batch) -> list[str]:
    return sorted({line.memory.scope.agent_id for line in batch.lines})


def _near(found: Sequence[Usage]) -> list[Use]:
    """Return the limits of which little is left."""
    return [use for usage in found for use in usage.uses if use.used >= WARN_FROM * use.limit]


def _store_outcome(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> Outcome | None:
    """Say what was stored before, by this run or with this key; None where the reason no longer holds.

    Raises:
        IdempotencyKeyReused: the key was used for another request.
        QuotaExceeded: a limit is reached.
    """
    quotas, held, used = rows
    memory = batch.lines[0].memory
    if reason == "key_used":
        if used and used[0]["request_hash"] != batch.request_hash:
            raise IdempotencyKeyReused("The Idempotency-Key was used for another request in the last 24 hours.")
        return Outcome(str(used[0]["memory_id"])) if used else None
    if reason != "quota_exceeded":
        return Outcome(memory.id)
    growth = memory.metadata_bytes + (-int(held[0]["metadata_bytes"] or 0) if held else memory.content_bytes)
    needed = (0 if held else 1, growth, 1)
    over = [use for usage in usages(quotas) for use in usage.exceeded_by(needed)]
    if over:
        raise _exceeded(over, next_minute=int(quotas[0]["next_minute"] or 0))
    return None


def _exceeded(over: Sequence[Use], *, next_minute: int) -> QuotaExceeded:
    first = over[0]
    only_rate = all(use.name == "stores_per_minute" for use in over)
    return QuotaExceeded(
        f"This is over the {first.scope}'s limit of {first.limit} {first.name.replace('_', ' ')}, of which {first.used}"
        " are used. Nothing was stored.",
        reached=", ".join(use.header for use in over),
        retry_after=next_minute if only_rate else None,
    )


def _settle(reason: str, lines: Sequence[Line], rows: Sequence[Sequence[Row]]) -> dict[int, Outcome]:
    """Say which lines of an import cannot be written, and why; the others are to be tried again."""
    quotas, holders, own, taken, removed = rows
    if reason == "quota_exceeded":
        return {number: Outcome(full=True) for number in _without_room(lines, usages(quotas))}
    outcomes = {int(row["line"] or 0): Outcome(str(row["id"])) for row in holders}
    gone = {str(row["id"]) for row in (*own, *taken)}
    deleted = {str(row["id"]): (row["agent_id"], int(row["revision"] or 0)) for row in removed}
    for number, line in enumerate(lines):
        agent_id, revision = deleted.get(line.memory.id, (line.memory.scope.agent_id, 0))
        lost = line.memory.id in gone or agent_id != line.memory.scope.agent_id or revision > line.undoes
        if lost and number not in outcomes:
            outcomes[number] = Outcome()
    return outcomes


def _without_room(lines: Sequence[Line], found: Sequence[Usage]) -> Iterator[int]:
    """Give the lines that would, with those before them, take their agent or the tenant over a limit."""
    of = {usage.agent_id: usage for usage in found}
    for number, (line, total) in enumerate(zip(lines, totals([line.memory for line in lines]), strict=True)):
        agent, tenant = of[line.memory.scope.agent_id], of[None]
        if agent.exceeded_by((*total["agent"], 0)) or tenant.exceeded_by((*total["tenant"], 0)):
            yield number
