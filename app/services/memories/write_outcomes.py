"""The outcomes of the lines of a batch, and what the gate's reasons mean for the lines (``schema.sql``)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.domain.errors import Erasing, IdempotencyKeyReused, LongTermDisabled, MemoryGatewayError
from app.domain.quotas import Usage
from app.ports.database import Row, RunRefused
from app.services.access.credentials import refused
from app.services.memories.stored_again import ExistingMemory
from app.services.tenant.writing import no_such_run
from app.storage.batches import Bulk
from app.storage.memories import Batch, MemoryWrite, present, remembered, totals
from app.storage.quotas import Quotas, check_room, usages
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The outcome of a line: the memory that has the line's content now, or why no memory was written."""

    holder: str | None = None
    full: bool = False
    """Whether the line is over a limit. A line that is not, and has no holder, has an id that is used or was deleted.

    A learned memory is not written either where another memory has its content, or where its sources are gone."""
    written: bool = False
    """Whether this run has written the memory; else an earlier run had."""
    created_at: int = 0
    expires_at: int | None = None
    revisions: Mapping[str, int] = field(default_factory=dict)
    """The revision of each vector that was queued, by index name."""


class MetadataDiffers(Exception):
    """The content is there with other metadata than was last read."""

    def __init__(self, existing: ExistingMemory | None) -> None:
        """Take the memory as it was read."""
        self.existing = existing
        """The memory as it is now; None where it is gone."""


def reasons(batch: Batch, quotas: Quotas) -> list[ScopedStatement]:
    """Return the statements that read why a batch was refused, for ``refused_outcomes``."""
    memories = [line.memory for line in batch.lines]
    if not batch.is_bulk:
        (memory,) = memories
        scope = memory.scope
        return [quotas.read(scope.agent_id), present(scope, memory.content_hash), remembered(scope, batch.key)]
    bulk, ids = Bulk(batch.tenant.tenant_id), [memory.id for memory in memories]
    return [
        quotas.read_each(batch.agents),
        bulk.by_content([(memory.scope.agent_id, memory.content_hash) for memory in memories]),
        bulk.by_id(ids),
        bulk.taken(ids),
        bulk.removed(ids),
    ]


def refused_outcomes(refusal: RunRefused, batch: Batch, rows: Sequence[Sequence[Row]]) -> dict[int, WriteOutcome]:
    """Return the outcomes of the lines that are not to be tried again; empty where the reason no longer holds.

    Raises:
        Erasing, IdempotencyKeyReused, LongTermDisabled, NotFound, QuotaExceeded, Unauthenticated: nothing is written.
        MetadataDiffers: the content is there with other metadata than was read.
        RunRefused: the reason is none of the gate's.
    """
    match refusal.reason:
        case "erasing" | "disabled" | "revoked" | "no_run" as reason:
            raise _refusal(reason, batch)
        case "differs":
            existing = [] if batch.is_bulk else rows[1]
            raise MetadataDiffers(read_row(ExistingMemory, existing[0]) if existing else None)
        case "key_used" | "deleted" | "stored" | "taken" | "quota_exceeded" as reason:
            if not batch.is_store:
                return _import_outcomes(reason, batch, rows)
            return _ingest_outcomes(reason, batch, rows) if batch.is_bulk else _store_outcome(reason, batch, rows)
        case _:
            raise refusal


def _refusal(reason: Literal["erasing", "disabled", "revoked", "no_run"], batch: Batch) -> MemoryGatewayError:
    """Return the error of a batch of which no line is written."""
    match reason:
        case "erasing":
            again = "Import" if not batch.is_store else "Store" if batch.ingestion is None else "Ingest"
            text = f"The agent, or its tenant, is being erased. {again} again once the erasure has its receipt."
            return Erasing(text)
        case "disabled":
            return LongTermDisabled()
        case "revoked":
            return refused("it was revoked")
        case "no_run":
            return no_such_run()


def check_store(batch: Batch, rows: Sequence[Sequence[Row]]) -> None:
    """Check that there is room for a store, by the rows of the statements of ``reasons``.

    Raises:
        QuotaExceeded: a limit is reached.
    """
    quotas, existing, _ = rows
    memory = batch.lines[0].memory
    if existing:
        metadata_bytes = len(str(existing[0]["metadata_json"]).encode())
        check_room(quotas, (0, memory.metadata_bytes - metadata_bytes, 1))
    else:
        check_room(quotas, (1, memory.metadata_bytes + memory.content_bytes, 1))


def _store_outcome(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> dict[int, WriteOutcome]:
    """Return the outcome of the earlier store, by this run or with this key; empty where there was none.

    Raises:
        IdempotencyKeyReused: the key was used for another request.
        QuotaExceeded: a limit is reached.
    """
    if reason == "key_used":
        return _of_key(batch, rows[2])
    if reason == "quota_exceeded":
        check_store(batch, rows)
        return {}
    return {0: WriteOutcome(batch.lines[0].memory.id)}


def _of_key(batch: Batch, used: Sequence[Row]) -> dict[int, WriteOutcome]:
    if not used:
        return {}
    if used[0]["request_hash"] != batch.request_hash:
        raise IdempotencyKeyReused("The Idempotency-Key was used for another request in the last 24 hours.")
    return {0: WriteOutcome(str(used[0]["memory_id"]))}


def _ingest_outcomes(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> dict[int, WriteOutcome]:
    """Return the lines of an ingestion that an earlier run had written; the other lines are to be tried again.

    Raises:
        QuotaExceeded: the lines are together over a limit.
    """
    quotas, holders, _, _, removed = rows
    if reason == "quota_exceeded":
        new = [line.memory for line in batch.lines if line.merged_from is None]
        size = sum(memory.content_bytes + memory.metadata_bytes for memory in new)
        check_room(quotas, (len(new), size, len(batch.lines)), leaving=batch.leaving_bytes)
        return {}
    gone = {str(row["id"]) for row in removed}  # deleted since; the held lines are still there
    held = {int(row["line"] or 0): str(row["id"]) for row in holders}
    ids = [line.memory.id for line in batch.lines]
    return {number: WriteOutcome(id_) for number, id_ in enumerate(ids) if id_ in gone or held.get(number) == id_}


def _import_outcomes(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> dict[int, WriteOutcome]:
    """Return the outcomes of the lines of an import that cannot be written; the other lines are to be tried again."""
    quotas, holders, own, taken, removed = rows
    lines = batch.lines
    if reason == "quota_exceeded":
        return {number: WriteOutcome(full=True) for number in _without_room(lines, usages(quotas))}
    outcomes = {int(row["line"] or 0): WriteOutcome(str(row["id"])) for row in holders}
    gone = {str(row["id"]) for row in (*own, *taken)}
    deleted = {str(row["id"]): row for row in removed}
    for number, line in enumerate(lines):
        lost = line.memory.id in gone or _was_deleted(line, deleted)
        if lost and number not in outcomes:
            outcomes[number] = WriteOutcome()
    return outcomes


def _was_deleted(line: MemoryWrite, deleted: Mapping[str, Row]) -> bool:
    """Tell whether the line's id was deleted: as another agent's memory, or later than the deletion that it undoes."""
    row = deleted.get(line.memory.id)
    if row is None:
        return False
    return row["agent_id"] != line.memory.scope.agent_id or int(row["revision"] or 0) > line.undoes


def _without_room(lines: Sequence[MemoryWrite], found: Sequence[Usage]) -> Iterator[int]:
    """Yield the numbers of the lines that, with the lines before them, take their agent or the tenant over a limit."""
    of = {usage.agent_id: usage for usage in found}
    for number, (line, total) in enumerate(zip(lines, totals([line.memory for line in lines]), strict=True)):
        agent, tenant = of[line.memory.scope.agent_id], of[None]
        if agent.exceeded_by((*total["agent"], 0)) or tenant.exceeded_by((*total["tenant"], 0)):
            yield number
