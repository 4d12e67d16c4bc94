"""Texts and shapes that have cost more than they should somewhere, each of any size."""

import json
import unicodedata
from collections.abc import Callable
from typing import Any

from ulid import ULID

from app.services.transfer.lines import memory_line
from app.services.transfer.record import Record

_MARKS = "".join(
    sorted(filter(unicodedata.combining, map(chr, range(0x20000))), key=lambda mark: -unicodedata.combining(mark))
)


def _repeated(part: str) -> Callable[[int], str]:
    return lambda size: part * (size // len(part.encode()))


def _descending_marks(size: int) -> str:
    each = size // len(_MARKS.encode()) + 1
    return "".join(mark * each for mark in _MARKS).encode()[:size].decode(errors="ignore")


TEXTS: dict[str, Callable[[int], str]] = {
    "an identifier that is none": lambda size: "1" * (size - 3) + "'ab",
    "opening quotes": _repeated("\u201c"),
    "low opening quotes": _repeated("\u201ea"),
    "corner brackets": _repeated("\u300c"),
    "straight quotes": _repeated('"a'),
    "one phrase": lambda size: '"' + "red " * ((size - 2) // 4) + '"',
    "one long identifier": _repeated("1-"),
    "combining marks in descending order": _descending_marks,
    "one combining mark": _repeated("\u0301"),
    "what becomes combining marks": _repeated("\u0f73"),
    "marks and what becomes marks": _repeated("\u0301\uff9e"),
    "ideographs": _repeated("\u6f22"),
    "one ideograph and spaces": _repeated("\u6f22 "),
    "Arabic": _repeated("\u0648\u0627\u0644"),
    "Hangul": _repeated("\ud55c\uad6d"),
    "capital letters": _repeated(" A"),
    "apostrophes": _repeated("a'"),
    "separators": lambda size: "a" + "-" * (size - 1),
    "words": lambda size: " ".join(f"w{number}" for number in range(size // 7)),
    "dates": _repeated("5/6/2023 "),
    "half a shift": _repeated("the week before "),
    "operators": _repeated("a AND b NEAR( "),
    "white space": lambda size: "a" + " " * (size - 1),
    "white space alone": lambda size: " " * size,
    "white space behind a number": lambda size: "red fox 3" + " " * (size - 9),
    "white space between numbers": _repeated("fox 3 " + " " * 250),
    "tabs behind a date": lambda size: "5/6/2023" + "\t" * (size - 8),
    "line ends behind a fence": lambda size: "```" + "\n" * (size - 3),
    "control characters": _repeated("\x01"),
    "emoji": _repeated("\U0001f469\u200d"),
}
"""By size in bytes of UTF-8; none is longer."""

SHAPES: dict[str, Callable[[int], Any]] = {
    "a list of numbers": lambda size: {"a": [1] * (size // 2)},
    "a list of lists": lambda size: {"a": [[]] * (size // 3)},
    "many keys": lambda size: {f"{number:05}": 0 for number in range(size // 10)},
    "long keys": lambda size: {f"{'k' * 500}{number}": 0 for number in range(size // 510)},
    "one long text": lambda size: {"a": "\u201c" * (size // 3)},
    "a deep list": lambda size: _deep(min(size // 2, 400)),
    "large numbers": lambda size: {"a": [10**300] * (size // 302)},
    "small fractions": lambda size: {"a": [0.1234567890123456] * (size // 19)},
}
"""Objects, by about their size in bytes of JSON."""


def _deep(levels: int) -> dict[str, Any]:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return {"a": value}


def import_line(agent_id: str, text: str) -> dict[str, Any]:
    """Return a line of an import, whole, so that nothing refuses it before its content is read."""
    record = Record(agent_id=agent_id, content=text, id=str(ULID()), created_at=1_700_000_000_000)
    read: dict[str, Any] = json.loads(memory_line(record).data)
    return read
