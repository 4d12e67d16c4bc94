"""Counts recalls, tool calls and runs for metrics, and holds notes of recalls and runs, which are written later."""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, TypeAlias

from app.domain.audit import RecallNote, RunNote, ToolCall
from app.domain.canaries import RESERVED_AGENTS
from app.domain.json_types import Json
from app.domain.moments import new_id
from app.domain.request_note import MemoryOperation, RequestNote

Note: TypeAlias = RecallNote | RunNote
"""A note that is written later."""
MOST_NOTES = 10_000
"""The most notes that wait to be written: a recall beyond this number leaves no note, and is counted."""
BATCH = 500
"""Notes that are written in one run of the database."""


class AuditCounts(Protocol):
    """Counts audited calls, recalls, embedded texts and requests."""

    def tool_call(self, tenant_id: str, call: ToolCall) -> None:
        """Count a tool call that was kept."""
        ...

    def recall(self, note: RecallNote) -> None:
        """Count a recall."""
        ...

    def dropped(self, recalls: int) -> None:
        """Count recalls that left no row."""
        ...

    def embedded(self, tenant_id: str, characters: int, tokens: int | None) -> None:
        """Count the characters embedded for a tenant; ``tokens`` is None where the provider does not count them."""
        ...

    def request(self, note: RequestNote, seconds: float) -> None:
        """Count a request that was answered."""
        ...


class _NoCounts:
    def tool_call(self, tenant_id: str, call: ToolCall) -> None:
        pass

    def recall(self, note: RecallNote) -> None:
        pass

    def dropped(self, recalls: int) -> None:
        pass

    def embedded(self, tenant_id: str, characters: int, tokens: int | None) -> None:
        pass

    def request(self, note: RequestNote, seconds: float) -> None:
        pass


class RecallLog:
    """The notes of recalls and runs that are not written yet, oldest first. All tenants share one log.

    A recall neither waits for the database nor makes a call of it. The notes that a process holds when it is killed are
    lost: those of half a minute. A note leaves the log once it is written, or where the database refuses it for good;
    its id and its position stay the same until then, so that writing it again changes nothing.
    """

    def __init__(self, counts: AuditCounts | None = None, *, keep: bool = True, most: int = MOST_NOTES) -> None:
        """Take the counts; with ``keep`` False recalls are counted, and no note is kept."""
        self.counts: AuditCounts = counts or _NoCounts()
        self._keep = keep
        self._most = most
        self._notes: deque[Note] = deque()
        self._dropped: Counter[str] = Counter()
        """By tenant, the number of recalls that left no note since the last note of this number."""

    def __len__(self) -> int:
        """Return how many notes wait."""
        return len(self._notes)

    def add(self, note: RecallNote) -> None:
        """Count a recall, and note it where there is room; the prober's own are nobody's, and are left out."""
        if note.agent_id in RESERVED_AGENTS:
            return
        self.counts.recall(note)
        if not self._keep:
            return
        note.noted = monotonic()
        if len(self._notes) < self._most:
            self._notes.append(note)
        else:
            self._dropped[note.tenant_id] += 1
            self.counts.dropped(1)

    def add_of_run(self, note: RunNote) -> None:
        """Keep a note for the log of a run, where there is room; else the log lacks it."""
        note.noted = monotonic()
        if self._keep and len(self._notes) < self._most:
            self._notes.append(note)

    def batch(self) -> Sequence[Note]:
        """Return the next notes to write, which stay until ``written`` or ``refused``.

        For each tenant one note at a time tells how many recalls left none; later recalls are told of once that note is
        written.
        """
        told = {note.tenant_id for note in self._notes if _tells_dropped(note)} if self._dropped else set()
        for tenant_id in [each for each in self._dropped if each not in told]:
            recalls = self._dropped.pop(tenant_id)
            self._notes.append(RecallNote(tenant_id, "", "", dropped=recalls, noted=monotonic()))
        notes = [self._notes[place] for place in range(min(BATCH, len(self._notes)))]
        for note in notes:
            note.id = note.id or new_id()
        return notes

    def written(self, batch: Sequence[Note], departed: Collection[str] = ()) -> None:
        """Forget the notes of the last batch, and count those of departed tenants as dropped: they were not written."""
        self._forget(batch)
        self._count_lost([note for note in batch if note.tenant_id in departed])

    def refused(self, batch: Sequence[Note]) -> None:
        """Forget the notes of the last batch, which cannot be written, and count them as dropped."""
        self._forget(batch)
        self._count_lost(batch)

    def _forget(self, batch: Sequence[Note]) -> None:
        for _ in batch:
            self._notes.popleft()

    def _count_lost(self, notes: Sequence[Note]) -> None:
        self.counts.dropped(sum(isinstance(note, RecallNote) and note.dropped == 0 for note in notes))


def _tells_dropped(note: Note) -> bool:
    return isinstance(note, RecallNote) and note.dropped > 0


@dataclass(frozen=True, slots=True)
class TenantAudit:
    """Counts and notes of one tenant's requests."""

    tenant_id: str
    log: RecallLog = field(default_factory=lambda: RecallLog(keep=False))
    request: RequestNote = field(default_factory=RequestNote)
    """The note of the request that these services are for."""

    def tool_calls(self, calls: Sequence[ToolCall]) -> None:
        """Count tool calls that were kept."""
        for call in calls:
            self.log.counts.tool_call(self.tenant_id, call)

    def operation(self, operation: MemoryOperation) -> AbstractContextManager[object]:
        """Return a context in which an operation is done, of which a span tells where the request is traced."""
        spans = self.request.spans
        return nullcontext() if spans is None else spans(operation)

    def recalled(self, note: RecallNote) -> None:
        """Note a recall.

        Raises:
            ValueError: the recall is of another tenant. This is a defect.
        """
        if note.tenant_id != self.tenant_id:
            raise ValueError("A recall of another tenant was noted for this one.")
        self.degraded(note.degraded)
        self.log.add(note)

    def embedded(self, characters: int, tokens: int | None) -> None:
        """Count embedded characters; ``tokens`` is None where the provider does not count them."""
        self.log.counts.embedded(self.tenant_id, characters, tokens)
        self.request.embedded(characters, tokens)

    def degraded(self, parts: Sequence[str]) -> None:
        """Note the parts that did not answer for the request."""
        self.request.degraded = self.request.degraded or bool(parts)

    def note(self, agent_id: str, run_id: str | None, entry: Mapping[str, Json]) -> None:
        """Keep a note of an entry for the log of a run of this agent; no note where no run is named."""
        if run_id is not None:
            self.log.add_of_run(RunNote(self.tenant_id, agent_id, run_id, entry))
