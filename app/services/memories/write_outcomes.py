"""What the gate's reasons mean for each line of a batch (``0011_writers.sql``)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.errors import IdempotencyKeyReused, QuotaExceeded
from app.domain.quotas import Needed, Usage, Use
from app.ports.database import Row
from app.storage.memories import Batch, MemoryWrite, totals
from app.storage.quotas import usages

WARN_FROM = 0.8
"""The part of a limit from which a store is answered with a warning."""


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of a line: which memory has its content now, or why none was written."""

    holder: str | None = None
    full: bool = False
    """Whether it is over a limit; where it is not and nothing holds its content, its id was used for something else.

    A learned memory is not written either where another one has its content, or where what it comes from is gone."""
    written: bool = False
    """Whether this run has written it; else an earlier one had."""
    created_at: int = 0
    expires_at: int | None = None
    revisions: Mapping[str, int] = field(default_factory=dict)
    """The revision of each vector that was queued, by index name."""


def near(found: Sequence[Usage]) -> list[Use]:
    """Return the limits of which little is left."""
    return [use for usage in found for use in usage.uses if use.used >= WARN_FROM * use.limit]


def store_outcome(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> WriteOutcome | None:
    """Say what was stored before, by this run or with this key; None where the reason no longer holds.

    Raises:
        IdempotencyKeyReused: the key was used for another request.
        QuotaExceeded: a limit is reached.
    """
    quotas, held, used = rows
    memory = batch.lines[0].memory
    if reason == "key_used":
        return _of_key(batch, used)
    if reason != "quota_exceeded":
        return WriteOutcome(memory.id)
    if held:
        metadata_bytes = len(str(held[0]["metadata_json"]).encode())
        check_room(quotas, (0, memory.metadata_bytes - metadata_bytes, 1))
    else:
        check_room(quotas, (1, memory.metadata_bytes + memory.content_bytes, 1))
    return None


def _of_key(batch: Batch, used: Sequence[Row]) -> WriteOutcome | None:
    if not used:
        return None
    if used[0]["request_hash"] != batch.request_hash:
        raise IdempotencyKeyReused("The Idempotency-Key was used for another request in the last 24 hours.")
    return WriteOutcome(str(used[0]["memory_id"]))


def check_room(quotas: Sequence[Row], needed: Needed, *, leaving: int = 0) -> None:
    """Check that what is needed is within the quotas that were read; ``leaving``: bytes that are just leaving.

    Raises:
        QuotaExceeded: it is not.
    """
    over = [use for usage in usages(quotas) for use in usage.without(leaving).exceeded_by(needed)]
    if over:
        raise exceeded(over, next_minute=int(quotas[0]["next_minute"] or 0))


def exceeded(over: Sequence[Use], *, next_minute: int) -> QuotaExceeded:
    """Return the refusal of what is over these limits, which names the first and when to try again."""
    first = over[0]
    only_rate = all(use.name == "stores_per_minute" for use in over)
    return QuotaExceeded(
        f"This is over the {first.scope}'s limit of {first.limit} {first.name.replace('_', ' ')}, of which {first.used}"
        " are used. Nothing was stored.",
        reached=", ".join(use.header for use in over),
        retry_after=next_minute if only_rate else None,
    )


def write_outcomes(batch: Batch, queued: Sequence[Row], written: Sequence[Row]) -> list[WriteOutcome]:
    """Say what became of each line of a batch whose run was made."""
    rows = {(row["agent_id"], row["content_hash"]): row for row in written}
    by_id = {row["id"]: row for row in written}  # of a run that is made again, for what was superseded meanwhile
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


def ingest_outcomes(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> dict[int, WriteOutcome]:
    """Say which lines of an ingestion an earlier run had written; the others are to be tried again.

    Raises:
        QuotaExceeded: together they are over a limit.
    """
    quotas, holders, _, _, removed = rows
    if reason == "quota_exceeded":
        new = [line.memory for line in batch.lines if line.merged_from is None]
        size = sum(each.content_bytes + each.metadata_bytes for each in new)
        check_room(quotas, (len(new), size, len(batch.lines)), leaving=batch.leaving_bytes)
        return {}
    gone = {str(row["id"]) for row in removed}  # deleted since, or still there
    held = {int(row["line"] or 0): str(row["id"]) for row in holders}
    ids = [line.memory.id for line in batch.lines]
    return {number: WriteOutcome(id_) for number, id_ in enumerate(ids) if id_ in gone or held.get(number) == id_}


def settle(reason: str, batch: Batch, rows: Sequence[Sequence[Row]]) -> dict[int, WriteOutcome]:
    """Say which lines of an import cannot be written, and why; the others are to be tried again."""
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
    """Tell whether another agent's memory of its id was deleted, or its own later than what storing it undoes."""
    row = deleted.get(line.memory.id)
    if row is None:
        return False
    return row["agent_id"] != line.memory.scope.agent_id or int(row["revision"] or 0) > line.undoes


def _without_room(lines: Sequence[MemoryWrite], found: Sequence[Usage]) -> Iterator[int]:
    """Give the lines that would, with those before them, take their agent or the tenant over a limit."""
    of = {usage.agent_id: usage for usage in found}
    for number, (line, total) in enumerate(zip(lines, totals([line.memory for line in lines]), strict=True)):
        agent, tenant = of[line.memory.scope.agent_id], of[None]
        if agent.exceeded_by((*total["agent"], 0)) or tenant.exceeded_by((*total["tenant"], 0)):
            yield number
