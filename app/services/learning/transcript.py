"""Writes messages as lines that a model can cite, each with its number, the day on which it was said and its role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.learned import Pass
from app.domain.messages import Message, Role
from app.language.dates.beside import with_all_days
from app.services.answer.evidence import dated
from app.services.learning.request import fenced

_INDENT = "\n    "


@dataclass(frozen=True, slots=True)
class Line:
    """A message, or a part of one, in a transcript."""

    number: int
    """From 1. Parts of one message have one number."""
    message_id: str
    role: Role
    content: str
    said_at: int
    """In milliseconds since the epoch."""
    context: bool = False
    """Whether it was read before and is there to understand the others."""


def numbered(pass_: Pass, messages: Mapping[str, Message]) -> list[Line]:
    """Return the messages of a pass as lines; those that are gone meanwhile are left out."""
    lines = []
    for place, id_ in enumerate(pass_.message_ids):
        if id_ in messages:
            said = messages[id_]
            lines.append(Line(place + 1, id_, said.role, said.content, said.said_at, context=place < pass_.context))
    return lines


def transcript(lines: Sequence[Line], mark: str) -> str:
    """Return lines as a model reads them, between fences.

    ``[3] 2026-05-04 Monday, user: I moved yesterday [2026-05-03].`` The lines of a text but its first are indented, so
    that no text can begin a line of its own. Behind an expression such as "yesterday" stand the days that it means.
    """
    return fenced("messages", "\n".join(map(_written, lines)), mark)


def _written(line: Line) -> str:
    read_before = " (read before)" if line.context else ""
    text = [with_all_days(each, line.said_at) for each in line.content.splitlines() if each.strip()]
    return f"[{line.number}] {dated(line.said_at)}, {line.role}{read_before}: {_INDENT.join(text)}"
