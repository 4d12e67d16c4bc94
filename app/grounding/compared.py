"""Reads the sources of statements: their sentences, words, quantities and days, each source once."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from heapq import nsmallest

from app.domain.words import folded, plain
from app.grounding.source import Source
from app.language.clauses import Clause, sentences
from app.language.dates.days import ordinal
from app.language.dates.interval import Interval
from app.language.dates.time_expressions import TimeExpression, time_expressions
from app.language.numbers import quantities

_LETTERS = re.compile(r"[^\W_]+")
_COMMON = 40
"""Sentences of one source that may have a word which counts, at least: a more common word does not tell them apart."""
_MAX_NEAR = 12


class ComparedText:
    """A text in compared form. Its expressions of time are read on the day ``today``; None: on no certain day."""

    def __init__(self, text: str, today: int | None = None) -> None:
        """Read a statement."""
        self.text = text
        self.sentences = sentences(text)
        self.times = time_expressions(text, today)
        self.quantities = quantities(text)
        self.clauses = [clause for sentence in self.sentences for clause in sentence.clauses]
        self.words = [word for clause in self.clauses for word in clause.words]
        self.forms = frozenset(word.folded for word in self.words)

    @cached_property
    def quantity_places(self) -> frozenset[int]:
        """The places that belong to a quantity."""
        return frozenset(place for one in self.quantities for place in range(one.starts, one.ends))

    def in_times(self, place: int) -> bool:
        """Tell whether a place belongs to an expression of time."""
        return any(time.starts <= place < time.ends for time in self.times)


class SourceReading(ComparedText):
    """A source in compared form."""

    def __init__(self, source: Source) -> None:
        """Read a source."""
        self.source = source
        self.today = None if source.said_at is None else ordinal(source.said_at)
        super().__init__(source.text, self.today)
        self.lines = "".join(plain(line) + "\n" for line in source.text.splitlines())
        self.plain = plain(source.text)
        self.names = frozenset(word.folded for word in self.words if word.capital and not word.first)
        self.joined = frozenset("".join(_LETTERS.findall(word)) for word in self.forms)
        self.forms = self.forms.union(*(_LETTERS.findall(word) for word in self.forms if not word.isalnum()))
        self.speaker = frozenset(_LETTERS.findall(folded(source.speaker)))
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, sentence in enumerate(self.sentences):
            for key in sentence.keys:
                self._places[key].append(place)

    @cached_property
    def numbers(self) -> frozenset[tuple[Decimal, str]]:
        """Every value with its unit."""
        return frozenset((value, quantity.unit) for quantity in self.quantities for value in quantity.values)

    def nearness(self, keys: Collection[str]) -> dict[int, float]:
        """Return by its place how many of the words a sentence has, for sentences with any; rare words count more."""
        found: defaultdict[int, float] = defaultdict(float)
        most = max(_COMMON, len(self.sentences) // 20)
        for key in keys:
            places = self._places.get(key, ())
            if 0 < len(places) <= most:
                for place in places:
                    found[place] += 1 + 1 / len(places)
        return found


@dataclass(frozen=True)
class SourceContents:
    """The sources of a statement together. ``computed``: days that code has computed of them."""

    sources: Sequence[SourceReading]
    computed: Collection[date] = ()

    @cached_property
    def today(self) -> Sequence[int]:
        """The days on which the sources were said."""
        return list(dict.fromkeys(source.today for source in self.sources if source.today is not None))

    @cached_property
    def days(self) -> frozenset[Interval]:
        """Every stretch of time that the sources may mean."""
        found = {Interval.of_day(day.toordinal()) for day in self.computed}
        for source in self.sources:
            sure = [time for time in source.times if source.today is not None or time.fixed]
            found.update(stretch for time in sure for stretch in time.days)
        return frozenset(found)

    @cached_property
    def times(self) -> Sequence[TimeExpression]:
        """The sources' expressions of time."""
        return [time for source in self.sources for time in source.times]

    @cached_property
    def text(self) -> str:
        """The sources' text in compared form."""
        return "\n".join(source.plain for source in self.sources)

    def nearest(self, keys: Iterable[str], most: int) -> list[tuple[int, int]]:
        """Return the sentences that have most of the words, each by the number of its source and its place there."""
        different = frozenset(keys)
        found = (
            (-near, number, place)
            for number, source in enumerate(self.sources)
            for place, near in source.nearness(different).items()
        )
        return [(number, place) for _, number, place in nsmallest(most, found)]

    def has_word(self, word: str) -> bool:
        """Tell whether a folded word stands in any source, or in the name of a source's speaker."""
        return any(word in source.forms or word in source.joined or word in source.speaker for source in self.sources)

    def has_name(self, word: str) -> bool:
        """Tell whether a folded word is written as a name within a sentence of any source."""
        return any(word in source.names for source in self.sources)


@dataclass(frozen=True)
class GuardedStatement:
    """A statement beside its sources, which each guard reads."""

    claim: ComparedText
    cited: SourceContents

    @cached_property
    def near(self) -> Sequence[tuple[Clause, Sequence[tuple[SourceReading, Clause]]]]:
        """Each clause of the statement, with the clauses of the ``_MAX_NEAR`` sentences that have most of its words."""
        return [(clause, list(self._near(clause))) for clause in self.claim.clauses]

    def _near(self, clause: Clause) -> Iterator[tuple[SourceReading, Clause]]:
        for number, place in self.cited.nearest((word.key for word in clause.words), _MAX_NEAR):
            source = self.cited.sources[number]
            yield from ((source, other) for other in source.sentences[place].clauses)
