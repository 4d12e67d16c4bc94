"""Writes messages as lines that a model can cite, each with its number, the day on which it was said and its role."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.learned import Pass
from app.domain.messages import Message, Role
from app.language.dates.days import with_all_days
from app.services.learning.evidence import dated
from app.services.learning.sifting import words_of
from app.services.models.request import fenced

ROOM = 16_000
"""Characters of messages that are read at once beside proposals."""
_LEAST = 400
"""Characters that are shown of each cited message, however many there are."""
_PIECE = re.compile(r".{1,400}?(?:[.!?。]\s+|\n|$)|.{1,400}", re.DOTALL)
_LEFT_OUT = " … "
_INDENT = "\n    "


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A message, or a part of one, in a transcript."""

    number: int
    """The line's number, from 1. Parts of one message have one number."""
    message_id: str
    role: Role
    content: str
    said_at: int
    """In milliseconds since the epoch."""
    context: bool = False
    """Whether an earlier pass read the line, and it is only there to understand the others."""


def numbered(pass_: Pass, messages: Mapping[str, Message]) -> list[TranscriptLine]:
    """Return the messages of a pass as lines; messages that are gone meanwhile are left out."""
    lines = []
    for place, id_ in enumerate(pass_.message_ids):
        if id_ in messages:
            said = messages[id_]
            lines.append(
                TranscriptLine(place + 1, id_, said.role, said.content, said.said_at, context=place < pass_.context)
            )
    return lines


def transcript(lines: Sequence[TranscriptLine], mark: str) -> str:
    """Return lines as a model reads them, between fences.

    ``[3] 2026-05-04 Monday, user: I moved yesterday [2026-05-03].`` The lines of a text but its first are indented, so
    that no text can begin a line of its own. Behind an expression such as "yesterday" stand the days that it means.
    """
    return fenced("messages", "\n".join(map(_written, lines)), mark)


def _written(line: TranscriptLine) -> str:
    read_before = " (read before)" if line.context else ""
    text = [with_all_days(splitline, line.said_at) for splitline in line.content.splitlines() if splitline.strip()]
    return f"[{line.number}] {dated(line.said_at)}, {line.role}{read_before}: {_INDENT.join(text)}"


def excerpts(
    lines: Sequence[TranscriptLine], cited: Collection[str], statements: Sequence[str]
) -> Sequence[TranscriptLine]:
    """Return lines with at most about ``ROOM`` characters: all lines, or else the lines of ``cited`` messages.

    Of a cited line that is too long, the pieces that have most words of the statements are kept.
    """
    if sum(len(line.content) for line in lines) <= ROOM:
        return lines
    kept = [line for line in lines if line.message_id in cited]
    room = max(_LEAST, ROOM // max(1, len(kept)))
    words = {word for statement in statements for word in words_of(statement)}
    return [replace(line, content=_excerpt(line.content, words, room)) for line in kept]


def _excerpt(text: str, words: set[str], room: int) -> str:
    """Return the pieces of a text that have most of the words, in their order."""
    if len(text) <= room:
        return text
    pieces = _PIECE.findall(text)
    shared = [len(words.intersection(words_of(piece))) for piece in pieces]
    chosen: set[int] = set()
    for place in sorted(range(len(pieces)), key=lambda place: (-shared[place], place)):
        if len(pieces[place]) <= room:
            chosen.add(place)
            room -= len(pieces[place])
    gaps = {place for place in chosen if place and place - 1 not in chosen}
    return "".join(f"{_LEFT_OUT if place in gaps else ''}{pieces[place]}" for place in sorted(chosen)).strip()
