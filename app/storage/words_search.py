"""Searches the index of words in steps, for a database in this process: it finds what section ``lexical`` finds.

The section of ``candidates.sql`` asks the index of words for each pair of a term and a hit, because D1 counts each
memory that it walks past. Here walking costs little, so a term's memories are read once, as numbers, and sets of
numbers are compared. Both find the same memories with the same points (ADR 0091).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import Any, Final, NamedTuple

from app.domain.json_types import Json, to_json
from app.ports.database import Select

NEXT_KIND: Final = 65_536
"""The factor of a memory's number, to which the number of its kind is added: one JSON number tells both."""

_WALKED = 1500
"""The memories of a term that are walked: beyond, the index of words is asked for single memories."""
_FEW = 24
"""Memories for each of which the index of words is asked whether it has a term, instead of walking the term's."""
_OWN, _SYNONYM = 2, 1
"""The weights of a word of the query and of a synonym."""
_NO_NUMBER = 9_000_000_000_000_000_000

_OLDEST = """
SELECT json_group_array(number) FROM (
  SELECT rowid AS number FROM memory_words WHERE memory_words MATCH ?1 ORDER BY rowid LIMIT ?2
)
"""
_NEWEST = """
SELECT json_group_array(number) FROM (
  SELECT rowid AS number FROM memory_words WHERE memory_words MATCH ?1 AND rowid < ?2 AND rowid > ?3
  ORDER BY rowid DESC LIMIT ?4
)
"""
_COUNT = "SELECT json(count(*)) FROM (SELECT 1 FROM memory_words WHERE memory_words MATCH ?1 LIMIT ?2)"
_AMONG = """
SELECT json_group_array(value) FROM json_each(?2) CROSS JOIN memory_words
WHERE memory_words MATCH ?1 AND memory_words.rowid = value
"""
_HITS = """
SELECT json_group_array(json_array(number, place)) FROM (
  SELECT number, hit.key AS place FROM json_each(?1) AS hit
    CROSS JOIN memory_number ON memory_number.id = hit.value ->> 0 LIMIT ?2
)
"""


@dataclass(frozen=True, slots=True)
class WordsBounds:
    """The bounds of what is read, by the columns of the section ``bounds``."""

    small: int
    memories: int
    common: int
    window: int
    most: int
    asked: int
    shared: int
    compared: int
    hits: int
    hits_of_common: int
    in_scope: str
    in_sample: str


@dataclass(slots=True, eq=False)
class _Term:
    """One of the words that are looked for, and the memories that have it."""

    term: int
    word: str
    own: int
    every: Sequence[int] | None
    """The numbers of all memories that have it, the oldest first; None where they were not all read."""
    numbers: Sequence[int]
    """The numbers of the newest of these within the window, the newest first; none are read of a common term."""
    is_complete: bool
    """Whether the window has all memories."""
    seen: int
    weight: float = 0.0
    place: int = 0
    chosen: bool = False

    @property
    def bit(self) -> int:
        return 1 << self.term


class Words(NamedTuple):
    """What was found, as a statement reads it."""

    seen: Json
    """Each term's number, and how many memories have it."""
    kinds: Json
    """The points and the words' bits of each kind of memory: memories of one kind have the same words."""
    numbers: Json
    """The memories, the oldest first: each one's number times ``NEXT_KIND``, and the number of its kind added."""


def search_words(select: Select, argument: Mapping[str, Any], bounds: WordsBounds) -> Words:
    """Search the index of words for the terms of a candidate query's argument."""
    return _WordsSearch(select, argument, bounds).words()


@dataclass(slots=True)
class _WordsSearch:
    select: Select
    argument: Mapping[str, Any]
    bounds: WordsBounds
    found: list[_Term] = field(default_factory=list)
    """The terms that a memory has, the rarest first."""

    def words(self) -> Words:
        wanted = self._wanted()
        if not self.bounds.memories:
            return Words([[term, 0] for term, _, _ in wanted], [], [])
        terms = [self._read(term, word, own) for term, word, own in wanted]
        chosen = self._choose(terms)
        seen: list[Json] = [[term.term, term.seen] for term in terms]
        if not chosen:
            return Words(seen, *self._with_all_words())
        further = _Further(self, chosen)
        words: defaultdict[int, int] = defaultdict(int)
        for term in self.found:
            bit = term.bit
            for number in term.numbers if term.chosen else ():
                words[number] |= bit
            for number in further.memories(term):
                words[number] |= bit
        return Words(seen, *self._by_kind(words))

    def _by_kind(self, words: Mapping[int, int]) -> tuple[Json, Json]:
        """Return the kinds of memories, and the memories, of the words' bits that each memory has."""
        kinds = {kind: place for place, kind in enumerate(dict.fromkeys(words.values()))}
        weights = {term.bit: term.weight for term in self.found}
        return (
            [[fsum([weights[bit] for bit in _bits(kind)]), kind] for kind in kinds],
            [number * NEXT_KIND + kinds[words[number]] for number in sorted(words)],
        )

    def newest(self, expression: str, most: int, *, before: int = _NO_NUMBER, after: int = -1) -> Sequence[int]:
        """Return the numbers of the newest memories that match, the newest first."""
        return self._numbers(_NEWEST, expression, before, after, most)

    def among(self, numbers: Collection[int], word: str) -> Sequence[int]:
        """Return those of the memories that have a word, in their order."""
        return self._numbers(_AMONG, word, str(list(numbers))) if numbers else []

    def hits(self) -> Sequence[tuple[int, int]]:
        """Return the numbers of the vector index's best hits, each with its place."""
        hits: Sequence[tuple[int, int]] = self.select(
            _HITS, (to_json(self.argument.get("semantic") or []), self.bounds.hits)
        )
        return hits

    def _numbers(self, sql: str, *parameters: str | int) -> list[int]:
        numbers: list[int] = self.select(sql, parameters)
        return numbers

    def _wanted(self) -> Iterable[tuple[int, str, int]]:
        """Give each word with its number and its weight; synonyms are numbered behind the query's own words."""
        own, synonyms = (self.argument.get(name) or [] for name in ("lexical", "synonyms"))
        for term, word in enumerate([*own, *synonyms]):
            yield term, f"({word})", _OWN if term < len(own) else _SYNONYM

    def _read(self, term: int, word: str, own: int) -> _Term:
        """Read the memories that have a term: all of them, or the newest of a term that seems to be common."""
        bounds, expression = self.bounds, self.bounds.in_scope + word
        sampled = None if bounds.small else self._in_sample(word)
        if sampled is not None and 16 * sampled >= bounds.common and self._fills_window(expression):
            return _Term(term, word, own, None, [], is_complete=False, seen=self._estimated(sampled))
        oldest = self._numbers(_OLDEST, expression, _WALKED)
        every = oldest if len(oldest) < _WALKED else None
        numbers = self.newest(expression, bounds.window) if every is None else every[: -bounds.window - 1 : -1]
        if len(numbers) < bounds.window:
            return _Term(term, word, own, every, numbers, is_complete=True, seen=len(numbers))
        seen = self._estimated(self._in_sample(word) if sampled is None else sampled)
        return _Term(term, word, own, every, numbers, is_complete=False, seen=seen)

    def _estimated(self, sampled: int) -> int:
        """Return about how many memories have a word, of which ``sampled`` were counted among each 16th memory."""
        return max(self.bounds.window, min(self.bounds.memories, 16 * sampled))

    def _fills_window(self, expression: str) -> bool:
        """Tell whether as many memories match as are read of a term at most."""
        count: int = self.select(_COUNT, (expression, self.bounds.window))
        return count == self.bounds.window

    def _in_sample(self, word: str) -> int:
        """Count the memories that have a word among each 16th memory; the count ends where the word is common."""
        count: int = self.select(_COUNT, (self.bounds.in_sample + word, self.bounds.common // 16 + 1))
        return count

    def _choose(self, terms: Iterable[_Term]) -> Sequence[_Term]:
        """Weigh the terms, bring them into order, and choose those that memories are found by, and return these."""
        common, memories = self.bounds.common, max(self.bounds.memories, 200)
        self.found = [term for term in terms if term.seen]
        self.found.sort(key=lambda term: (term.seen >= common, -term.own, term.seen, term.term))
        read = 0
        for place, term in enumerate(self.found, 1):
            times = memories / max(term.seen + 0.5, memories / 80.0)
            term.weight = term.own * (0.35 + 0.39 * times) / (1 + 0.0775 * times)
            term.place, term.chosen = place, term.seen < common and read < self.bounds.most
            read += len(term.numbers)
        return [term for term in self.found if term.chosen and term.place <= self.bounds.asked]

    def _with_all_words(self) -> tuple[Json, Json]:
        """Find the newest memories that have all of the query's own words, where all words are common."""
        own = [term for term in self.found if term.own == _OWN]
        if not own:
            return [], []
        numbers = self.newest(self.bounds.in_scope + self.found[0].word, self.bounds.window)
        after, most = numbers[0] - 40 * (numbers[0] - numbers[-1]), self.bounds.shared
        rarest, others = own[:3], own[3:]
        with_all = self.newest(self._with_words(rarest), _FEW + 1 if others else most, after=after)
        if others and len(with_all) > _FEW:
            with_all = self.newest(self._with_words(own), most, after=after)
            others = []
        for term in others:
            with_all = self.among(with_all, term.word)
        found: list[Json] = [number * NEXT_KIND for number in sorted(with_all)]
        return [[fsum(term.weight for term in own), sum(term.bit for term in own)]], found

    def _with_words(self, terms: Iterable[_Term]) -> str:
        return self.bounds.in_scope + " AND ".join(term.word for term in terms)


class _Further:
    """The further memories that have a term, beside those by which it is chosen: section ``searched``."""

    def __init__(self, search: _WordsSearch, chosen: Sequence[_Term]) -> None:
        self._search = search
        self._bounds = search.bounds
        self._chosen = chosen
        self._asked = [term for term in search.found if term.place <= search.bounds.asked]
        self._compared = sum(term.chosen and term.is_complete for term in search.found) + search.bounds.compared

    @cached_property
    def _hits(self) -> Sequence[tuple[int, int]]:
        return self._search.hits()

    @cached_property
    def _of_chosen(self) -> Collection[int] | None:
        """All memories of the chosen terms; None where they are not known."""
        return _together(self._chosen)

    def memories(self, term: _Term) -> Collection[int]:
        """Return the numbers of the further memories."""
        if term.place > self._bounds.asked or (term.seen >= self._bounds.common and self._bounds.small):
            return ()
        if term.chosen and term.is_complete:
            return ()
        found = self._with_other_words(term) if term.chosen else self._of_chosen_words(term)
        if term.place <= self._compared:
            found |= self._among_hits(term, found)
        return found

    def _of_chosen_words(self, term: _Term) -> set[int]:
        """Return which memories of the chosen terms have a term that is not chosen, the newest of them.

        Where a search has the scope's own word too, FTS5 takes longer for it than for a few single memories.
        """
        search, most, chosen = self._search, self._bounds.shared, self._of_chosen
        if chosen is not None and term.every is not None:
            return _newest(most, set(term.every).intersection(chosen))
        if chosen is not None and len(chosen) <= _FEW and self._bounds.in_scope.startswith("scope"):
            return set(search.among(sorted(chosen, reverse=True), term.word)[:most])
        return set(search.newest(self._expression(term, self._chosen), most, after=0))

    def _with_other_words(self, term: _Term) -> set[int]:
        """Return the newest memories, older than the window, that have a chosen term and another term too."""
        others, most = [other for other in self._asked if other is not term], self._bounds.shared
        if not others:
            return set()
        together = _together(others)
        if together is not None and term.every is not None:
            return _newest(most, set(term.every[: -len(term.numbers)]).intersection(together))
        return set(self._search.newest(self._expression(term, others), most, before=term.numbers[-1], after=0))

    def _among_hits(self, term: _Term, found: Collection[int]) -> set[int]:
        """Return which of the vector index's hits have a term."""
        bounds = self._bounds
        most = bounds.hits if term.seen < bounds.common else bounds.hits_of_common
        before = term.numbers[-1] if term.chosen else _NO_NUMBER
        hits = {number for number, place in self._hits if place < most and number < before}.difference(found)
        return hits.intersection(term.every) if term.every is not None else set(self._search.among(hits, term.word))

    def _expression(self, term: _Term, others: Iterable[_Term]) -> str:
        return f"{self._bounds.in_scope}{term.word} AND ({' OR '.join(other.word for other in others)})"


def _bits(words: int) -> list[int]:
    """Return the bits of words, each by itself."""
    bits = []
    while words:
        bits.append(words & -words)
        words &= words - 1
    return bits


def _together(terms: Iterable[_Term]) -> Collection[int] | None:
    """Return the memories that have one of the terms; None where not all of them were read."""
    numbers = set[int]()
    for term in terms:
        if term.every is None:
            return None
        numbers.update(term.every)
    return numbers


def _newest(most: int, numbers: set[int]) -> set[int]:
    return numbers if len(numbers) <= most else set(sorted(numbers)[-most:])
