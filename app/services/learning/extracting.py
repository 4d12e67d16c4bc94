"""Asks a model for the memories in a part of a conversation, and takes those that cite their lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from app.domain.learned import PassKind, Proposal
from app.services.learning.request import Request, asked, clipped_schema
from app.services.learning.sifting import Refused, whats_wrong
from app.services.learning.transcript import Line, transcript
from app.statements.tokens import tokens

MAX_MEMORIES = 30
"""What one call may propose."""
MAX_LINES = 8
"""Lines that a memory may cite: one that cites everything is supported by anything."""
MAX_TOKENS = 3_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory as a model writes it."""

    statement: Annotated[str, Field(max_length=1_200)]
    lines: Annotated[list[int], Field(max_length=12)]
    day: Annotated[str, Field(max_length=10, description="YYYY-MM-DD on which it happened, or empty")]


@dataclass(frozen=True, slots=True)
class Extracted:
    """The answer of the stages ``extract`` and ``detail``."""

    memories: Annotated[list[Candidate], Field(max_length=40)]


_FORMS = {kind: clipped_schema(kind, Extracted) for kind in ("extract", "detail")}


def extraction(kind: PassKind, lines: Sequence[Line], mark: str) -> Request[Extracted]:
    """Return what a model is asked of lines that it reads at once (``passes.readings``)."""
    return Request(asked(kind, mark, transcript(lines, mark)), _FORMS[kind], kind, MAX_TOKENS)


def proposals(extracted: Extracted, lines: Sequence[Line]) -> list[Proposal]:
    """Return the memories that may be taken: at most ``MAX_MEMORIES``, each with lines that are there."""
    return [each for each in _judged(extracted, lines) if isinstance(each, Proposal)]


def refused(extracted: Extracted, lines: Sequence[Line]) -> list[Refused]:
    """Return the others, each with the reason."""
    return [each for each in _judged(extracted, lines) if isinstance(each, Refused)]


def _judged(extracted: Extracted, lines: Sequence[Line]) -> Iterator[Proposal | Refused]:
    by_number: dict[int, list[Line]] = {}
    for line in lines:
        by_number.setdefault(line.number, []).append(line)
    taken: set[tuple[str, ...]] = set()
    for candidate in extracted.memories:
        content = " ".join(candidate.statement.split())
        cited = [line for number in sorted({*candidate.lines}) for line in by_number.get(number, ())]
        ids = list(dict.fromkeys(line.message_id for line in cited))
        words = tokens(content)
        if not ids or not {*candidate.lines} <= by_number.keys():
            reason = "It cites lines that do not exist."
        elif len(ids) > MAX_LINES:
            reason = f"It cites more than {MAX_LINES} lines."
        elif words in taken:
            reason = "It was proposed already."
        elif len(taken) == MAX_MEMORIES:
            reason = f"One answer may propose {MAX_MEMORIES} memories."
        else:
            reason = whats_wrong(content, cited)
        if reason:
            yield Refused(content[:200], ids, reason)
            continue
        taken.add(words)
        yield Proposal(content, ids, _happened_at(candidate.day, cited))


def _happened_at(day: str, cited: Sequence[Line]) -> int | None:
    """Return the beginning of a day that the cited lines name, where it is not the day on which they were said."""
    try:
        moment = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    happened_at = int(moment.timestamp()) * 1000
    said_at = max(line.said_at for line in cited)
    return happened_at if happened_at <= said_at - _DAY_MS and day in transcript(cited, "\0") else None
