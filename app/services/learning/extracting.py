"""Asks a model for the memories in a part of a conversation, and takes those that cite their lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache
from typing import Annotated

from pydantic import Field

from app.domain.learned import PassKind, Proposal
from app.domain.moments import milliseconds, moment
from app.language.dates.days import resolved_by_sentence
from app.services.learning.merging import compared
from app.services.learning.sifting import one_line, whats_wrong
from app.services.learning.transcript import TranscriptLine, transcript
from app.services.models.request import ModelRequest, asked, request

MAX_MEMORIES = 30
"""Memories that one call may propose."""
MAX_LINES = 8
"""Lines that a memory may cite: a memory that cites every line is supported by anything."""
MAX_TOKENS = 3_000
_MAX_SHOWN = 200
"""Characters that are shown of a refused memory."""
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """A memory as a model writes it."""

    statement: Annotated[str, Field(max_length=1_200)]
    lines: Annotated[list[int], Field(max_length=12)]
    day: Annotated[str, Field(max_length=10)]


@dataclass(frozen=True, slots=True)
class Extracted:
    """The answer of the stages ``extract`` and ``detail``."""

    memories: Annotated[list[ExtractedMemory], Field(max_length=40)]


@dataclass(frozen=True, slots=True)
class Refused:
    """A proposed memory that was refused."""

    content: str
    """Its text, or the beginning of its text."""
    message_ids: Sequence[str]
    """The ids of the messages that it cites, as far as the cited lines exist."""
    reason: str


def extraction(kind: PassKind, lines: Sequence[TranscriptLine], mark: str) -> ModelRequest[Extracted]:
    """Return the request that extracts memories of lines which are read at once (``passes.readings``)."""
    return request(kind, Extracted, MAX_TOKENS, asked(kind, mark, transcript(lines, mark)))


def proposals(extracted: Extracted, lines: Sequence[TranscriptLine]) -> list[Proposal]:
    """Return the memories that may be taken: at most ``MAX_MEMORIES``, each of which cites lines that exist."""
    days = cache(lambda line: named_days(line.content, line.said_at))  # many memories may cite one line
    return [
        Proposal(content, _message_ids(cited), _happened_at(day, cited, days))
        for content, cited, day, reason in _judged(extracted, lines)
        if not reason
    ]


def refused(extracted: Extracted, lines: Sequence[TranscriptLine]) -> list[Refused]:
    """Return the memories that may not be taken, each with the reason."""
    return [
        Refused(content[:_MAX_SHOWN], _message_ids(cited)[:MAX_LINES], reason)
        for content, cited, _, reason in _judged(extracted, lines)
        if reason
    ]


def _message_ids(cited: Sequence[TranscriptLine]) -> Sequence[str]:
    return list(dict.fromkeys(line.message_id for line in cited))


def _judged(
    extracted: Extracted, lines: Sequence[TranscriptLine]
) -> Iterator[tuple[str, Sequence[TranscriptLine], str, str]]:
    """Yield of each candidate its text, the lines it cites, its day, and why it is refused, "" where it is not."""
    by_number: dict[int, list[TranscriptLine]] = {}
    for line in lines:
        by_number.setdefault(line.number, []).append(line)
    taken: set[str] = set()
    for candidate in extracted.memories:
        content = one_line(candidate.statement)
        text = compared(content)
        cited = [line for number, said in by_number.items() if number in candidate.lines for line in said]
        reason = _whats_wrong(candidate, content, by_number, cited)
        if not reason and text in taken:
            reason = "Another memory of the answer says it already."
        elif not reason and len(taken) == MAX_MEMORIES:
            reason = f"One answer may propose {MAX_MEMORIES} memories."
        if not reason:
            taken.add(text)
        yield content, cited, candidate.day, reason


def _whats_wrong(
    candidate: ExtractedMemory,
    content: str,
    by_number: Mapping[int, Sequence[TranscriptLine]],
    cited: Sequence[TranscriptLine],
) -> str:
    """Return why a candidate is refused, the other candidates aside; "" where it is not refused."""
    if not cited or not by_number.keys() >= {*candidate.lines}:
        return "It cites lines that do not exist."
    if len({*candidate.lines}) > MAX_LINES:
        return f"It cites more than {MAX_LINES} lines."
    if all(line.context for line in cited):
        return "It cites nothing but what was read before."
    if all(line.role == "system" for line in cited):
        return "It cites nothing but what a program set up."
    return whats_wrong(content, [line.content for line in cited])


def _happened_at(
    day: str, cited: Sequence[TranscriptLine], days: Callable[[TranscriptLine], frozenset[date]]
) -> int | None:
    """Return the beginning of a day; None unless a cited line names that day and the last one was said after it."""
    try:
        happened = date.fromisoformat(day)
    except ValueError:
        return None
    begins = milliseconds(datetime.combine(happened, time(), UTC))
    is_over = begins + _DAY_MS <= max(line.said_at for line in cited)
    return begins if is_over and any(happened in days(line) for line in cited) else None


def named_days(text: str, said_at: int) -> frozenset[date]:
    """Return the single days that a text names, in a date or in an expression such as "yesterday"."""
    return frozenset(each.start for each in resolved_by_sentence(text, moment(said_at)) if each.start == each.end)
