"""Reads what the sources of statements say: their clauses, words, quantities and days."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date

from app.grounding.evidence import Reading, inherit, read
from app.grounding.orders import evident
from app.grounding.reading import Clause, Word, clauses, folded
from app.grounding.source import Source
from app.grounding.support import Grounds
from app.grounding.told_days import Told, told
from app.grounding.wording import Stems, Wording
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


class SourceReading:
    """What a source says, read once in one language, and its clauses once for each set of names that concern it."""

    def __init__(self, source: Source, wording: Wording) -> None:
        """Read a source up to an order to whoever makes memories."""
        text = evident(source.text)
        self.source = Source(text, source.said_at, source.speaker)
        self.today = None if source.said_at is None else _ordinal(source.said_at)
        self.lines = "".join(plain(line) + "\n" for line in text.splitlines())
        self.text = plain(text)
        self.times = told(text, self.today)
        self._wording = wording
        self._clauses = clauses(text, wording, Stems(wording))
        self._unsaid = {word.starts for word in self._words() if within(word, self.times)}
        speakers = WORDS.findall(folded(source.speaker))
        self.names = names_in(self._clauses).union(speakers)
        self.exact, self.stems = _vocabulary(self._words(), wording)
        self.exact.update(speakers)
        self._capitals = frozenset(word.folded for word in self._words() if word.capital)
        self._readings: dict[frozenset[str], list[Reading]] = {}

    def of_it(self, names: AbstractSet[str]) -> frozenset[str]:
        """Return the names that make a difference to how the clauses are read."""
        return self._capitals & names

    def readings(self, names: AbstractSet[str]) -> list[Reading]:
        """Return the clauses as they are read where these words are names."""
        own = self.of_it(names)
        if own not in self._readings:
            found = [read(clause, self._wording, own, self._unsaid) for clause in self._clauses]
            inherit(found, self._wording)
            self._readings[own] = found
        return self._readings[own]

    def _words(self) -> Iterator[Word]:
        return (word for clause in self._clauses for word in clause.words)


def gathered(
    sources: Sequence[SourceReading], wording: Wording, names: AbstractSet[str], computed: Collection[date]
) -> Known:
    """Return what sources say; ``names`` are the words that are names in any of them or in the statement."""
    readings: list[Reading] = []
    days: set[Days] = {(day.toordinal(), day.toordinal() + 1) for day in computed}
    for number, source in enumerate(sources):
        found = [replace(reading, source=number) for reading in source.readings(names)]
        readings.extend(found)
        today = source.today
        days.update(stretch for each in source.times for stretch in each.days if today is not None or each.fixed)
        if today is not None and any(not wording.words["present"].isdisjoint(reading.said) for reading in found):
            days.add((today, today + 1))
    return Known(
        grounds=Grounds.of(readings, [each.source for each in sources]),
        exact=frozenset[str]().union(*(each.exact for each in sources)),
        stems=frozenset[str]().union(*(each.stems for each in sources)),
        numbers=frozenset(term for reading in readings for term in reading.terms if isinstance(term, tuple)),
        told=[each for source in sources for each in source.times],
        days=frozenset(days),
        today=[each.today for each in sources if each.today is not None],
        text="\n".join(each.text for each in sources),
    )


def names_in(found: Iterable[Clause]) -> set[str]:
    """Return the words that are written with a capital within a sentence."""
    return {
        word.folded for clause in found for word in clause.words if word.capital and not word.first and word.text != "I"
    }


def _vocabulary(words: Iterable[Word], wording: Wording) -> tuple[set[str], set[str]]:
    exact: set[str] = set()
    stems: set[str] = set()
    for word in words:
        exact.add(word.folded)
        exact.update(parts(word.folded))
        if not word.capital or word.first or wording.code == "de":
            stems.add(word.stem)
            stems.update(wording.stem(part) for part in parts(word.folded))
        if base := wording.denied(word.stem):
            stems.add(base)
    return exact, stems


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
