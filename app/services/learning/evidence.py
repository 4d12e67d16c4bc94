"""Writes memories as a language model reads them, with days and lengths of time that code has computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from app.domain.author import speaker_of
from app.domain.moments import moment as moment_of
from app.language.dates.days import ordinal, resolved, with_days
from app.language.dates.lengths import length
from app.services.learning.plain import day, name, plain
from app.services.learning.reading import MAX_READ, Former, ReadableMemory, moment, until

MAX_CHARACTERS = 40_000
"""Characters of all memories together."""


@dataclass(frozen=True, slots=True)
class EvidenceStatement:
    """The statement of a memory, as a model reads it."""

    head: str
    """Its day, how long ago that day was, and the memory's label; computed by code."""
    statement: str
    """The text in one line, without the speaker's name before it."""
    speaker: str
    happened_at: int
    """ms since the epoch."""

    @property
    def tells_time(self) -> bool:
        """Whether the statement names a time: then it may be about another day than ``happened_at``."""
        return bool(resolved(self.statement, moment_of(self.happened_at)))

    @property
    def text(self) -> str:
        """Its line, with the days that "yesterday" and the like mean in it."""
        head = f"{self.head}, {self.speaker}" if self.speaker else self.head
        return f"{head}: {with_days(self.statement, self.happened_at)}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A memory as a model reads it."""

    number: int
    """From 1, the best first; the model cites the memory by this number."""
    memory_id: str
    statements: Sequence[EvidenceStatement]
    """The memory's statement, and then those that held before it."""

    @property
    def text(self) -> str:
        """Its lines."""
        first, *before = (statement.text for statement in self.statements)
        return "\n".join([f"({self.number}) {first}", *(f"    {line}" for line in before)])


def evidence(
    memories: Sequence[ReadableMemory],
    formers: Mapping[str, Sequence[Former]],
    *,
    reference_time: int,
    most: int | None = None,
    labels: Mapping[str, str] | None = None,
) -> list[Evidence]:
    """Return memories as a model reads them, in their order, as many as ``MAX_CHARACTERS`` allow.

    ``formers`` has by a memory's id the memories that held before it; ``reference_time`` (ms since the epoch) is now.
    ``most`` is the number of a memory's characters that are read; None: as many as leave room for all memories.
    ``labels`` has by a memory's id a text that is added to its head.
    """
    most = min(MAX_READ, MAX_CHARACTERS // max(len(memories), 1)) if most is None else most
    found = []
    left = MAX_CHARACTERS
    for number, memory in enumerate(memories, 1):
        left -= min(len(memory.content), most)
        if left < 0:
            break
        label = (labels or {}).get(memory.id or "", "")
        statements = [_statement(memory, most, reference_time, label)]
        for former in formers.get(memory.id or "", ()):
            statement = _statement(former, most, reference_time)
            statements.append(replace(statement, head=f"before {day(until(former))}: {statement.head}"))
        found.append(Evidence(number, memory.id or "", statements))
    return found


def _statement(memory: ReadableMemory, most: int, reference_time: int, label: str = "") -> EvidenceStatement:
    speaker, happened_at = name(speaker_of(memory.content, memory.metadata)), moment(memory)
    head = ", ".join(filter(None, (dated(happened_at), ago(happened_at, reference_time), label)))
    text = plain(memory.content[:most])
    statement = text[len(speaker) + 1 :].lstrip() if speaker and text.startswith(f"{speaker}:") else text
    return EvidenceStatement(head, statement, speaker, happened_at)


def dated(happened_at: int) -> str:
    """Return the day of a moment with its name: ``2026-05-04 Monday``."""
    written = day(happened_at)
    return f"{written} {date.fromisoformat(written):%A}"


def ago(happened_at: int, reference_time: int) -> str:
    """Return how long ago a moment was: ``today``, ``1 day ago``, ``70 days, that is 2 months and 9 days ago``."""
    first, today = ordinal(happened_at), ordinal(reference_time)
    if first == today:
        return "today"
    return f"{length(first, today)} ago" if first < today else f"in {length(today, first)}"
