"""Reads the patterns that the noise is composed from: ``data/noise/*.txt``, whose first lines say what is in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from bench.quality.mixed.memory import FIRST_DAY, LAST_DAY, StoryInvalid

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SECTION = re.compile(r"== (?P<name>.+?)(?: from (?P<first>\S+))?(?: until (?P<last>\S+))?")
_ENTRY = re.compile(r"(\S+) (\d\d:\d\d) \| (.+)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A calendar entry that comes back: on which days it may, at what time, and how it reads."""

    days: tuple[date, ...]
    clock: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """Some messages with a contact that belong together, and between which days they may come."""

    contact: str
    first: date
    last: date
    lines: tuple[str, ...]


def read_lists(file: Path) -> dict[str, list[str]]:
    """Read the lists that slots are filled from."""
    named = (line.split(": ", 1) for line in _lines(file) if line)
    return {name: entries.split("|") for name, entries in named}


def read_entries(file: Path) -> list[Entry]:
    """Read the calendar's patterns.

    Raises:
        StoryInvalid: a line is not in the form.
    """
    entries: list[Entry] = []
    away: list[tuple[date, date]] = []
    first, last = FIRST_DAY, LAST_DAY
    for line in filter(None, _lines(file)):
        if line.startswith("away "):
            _, start, end = line.split()
            away.append((date.fromisoformat(start), date.fromisoformat(end)))
        elif line.startswith("=="):
            _, first, last = _section(line)
        elif match := _ENTRY.fullmatch(line):
            days = tuple(_fitting(match[1], first, last, away))
            entries.append(Entry(days, match[2], match[3]))
        else:
            raise StoryInvalid(f"{file.name}: not an entry: {line}")
    return entries


def read_exchanges(file: Path) -> list[Exchange]:
    """Read patterns in blocks, under the name of the contact they are exchanged with."""
    exchanges: list[Exchange] = []
    contact, first, last = "", FIRST_DAY, LAST_DAY
    block: list[str] = []
    for line in [*_lines(file), ""]:
        if line and not line.startswith("=="):
            block.append(line)
            continue
        if block:
            exchanges.append(Exchange(contact, first, last, tuple(block)))
            block = []
        if line:
            contact, first, last = _section(line)
    return exchanges


def _lines(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield line.strip()


def _section(line: str) -> tuple[str, date, date]:
    match = _SECTION.fullmatch(line)
    if not match:
        raise StoryInvalid(f"not a section: {line}")
    first = date.fromisoformat(match["first"]) if match["first"] else FIRST_DAY
    return match["name"], first, date.fromisoformat(match["last"]) if match["last"] else LAST_DAY


def _fitting(weekdays: str, first: date, last: date, away: list[tuple[date, date]]) -> Iterator[date]:
    wanted = _DAYS if weekdays == "any" else weekdays.split(",")
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        if _DAYS[day.weekday()] in wanted and not any(start <= day <= end for start, end in away):
            yield day
