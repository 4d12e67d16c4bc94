"""Gathers what the sources of a statement say: their clauses, words, quantities and days."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from app.grounding.evidence import Reading, inherit, read
from app.grounding.reading import Clause, Word, folded
from app.grounding.source import Source
from app.grounding.support import Grounds
from app.grounding.told_days import Told, told
from app.grounding.wording import Wording
from app.statements.dates.time_readings import Days

WORDS = re.compile(r"[^\W_]+")
_DAY = 86_400_000
_EPOCH = 719_163


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of all sources."""

    grounds: Grounds
    exact: frozenset[str]
    stems: frozenset[str]
    numbers: frozenset[object]
    told: Sequence[Told]
    days: frozenset[Days]
    today: Sequence[int]
    text: str


def gathered(
    sources: Sequence[Source], lines: list[list[Clause]], wording: Wording, names: set[str], computed: Collection[date]
) -> Known:
    """Return what sources say; ``lines`` are their clauses, ``names`` the words that are names in any of them."""
    readings: list[Reading] = []
    times: list[Told] = []
    days: set[Days] = {(day.toordinal(), day.toordinal() + 1) for day in computed}
    dates: list[int] = []
    for number, (source, line) in enumerate(zip(sources, lines, strict=True)):
        today = None if source.said_at is None else _ordinal(source.said_at)
        here = told(source.text, today)
        times.extend(here)
        days.update(stretch for each in here for stretch in each.days if today is not None or each.fixed)
        unsaid = {word.starts for clause in line for word in clause.words if within(word, here)}
        found = [read(clause, wording, names, unsaid) for clause in line]
        for reading in found:
            reading.source = number
        inherit(found, wording)
        readings.extend(found)
        if today is not None:
            dates.append(today)
            if any(not wording.words["present"].isdisjoint(reading.said) for reading in found):
                days.add((today, today + 1))
    exact, stems = _vocabulary(lines, sources, wording)
    return Known(
        grounds=Grounds.of(readings, sources),
        exact=exact,
        stems=stems,
        numbers=frozenset(term for reading in readings for term in reading.terms if isinstance(term, tuple)),
        told=times,
        days=frozenset(days),
        today=dates,
        text="\n".join(plain(source.text) for source in sources),
    )


def _vocabulary(
    lines: list[list[Clause]], sources: Sequence[Source], wording: Wording
) -> tuple[frozenset[str], frozenset[str]]:
    exact: set[str] = set()
    stems: set[str] = set()
    for line in lines:
        for clause in line:
            for word in clause.words:
                exact.add(word.folded)
                exact.update(parts(word.folded))
                if not word.capital or word.first or wording.code == "de":
                    stems.add(word.stem)
                    stems.update(wording.stem(part) for part in parts(word.folded))
                if base := wording.denied(word.stem):
                    stems.add(base)
    for source in sources:
        exact.update(WORDS.findall(folded(source.speaker)))
    return frozenset(exact), frozenset(stems)


def parts(word: str) -> list[str]:
    """Return the parts of a compound with a hyphen; none of another word."""
    return WORDS.findall(word) if "-" in word or "/" in word else []


def plain(text: str) -> str:
    """Return a text without difference of case and white space."""
    return " ".join(folded(text).split())


def within(word: Word, times: Sequence[Told]) -> bool:
    """Tell whether a word belongs to one of some expressions of time."""
    return any(each.starts <= word.starts < each.ends for each in times)


def _ordinal(moment: int) -> int | None:
    day = moment // _DAY + _EPOCH
    return day if 0 < day <= date.max.toordinal() else None
