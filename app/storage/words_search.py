"""Searches the index of words in steps, for a database in this process: it finds what section ``lexical`` finds.

The section of ``candidates.sql`` asks the index of words for each pair of a term and a hit, because D1 counts each
memory that it walks past. Here walking costs little, so a term's memories are read once, as numbers, and sets of
numbers are compared. Both find the same memories with the same points (ADR 0091).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from math import fsum
from typing import Any, Final, NamedTuple

import numpy as np

from app.domain.json_types import Json
from app.ports.database import Select
from app.storage import postings
from app.storage.postings import NO_NUMBER, KeptPostings, Numbers, WordsReader, held

NEXT_KIND: Final = 65_536
"""The factor of a memory's number, to which the number of its kind is added: one JSON number tells both."""

_FEW = 24
"""Memories for each of which the index of words is asked whether it has a term, instead of walking the term's."""
_SAMPLED = 16
"""Each memory whose number is divisible by this is in the sample (schema.sql)."""
_OWN, _SYNONYM = 2, 1
"""The weights of a word of the query and of a synonym."""


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
    every: Numbers | None
    """All memories that have it; None where they have not all been read."""
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


def words_of(sections: Mapping[str, Any]) -> list[str]:
    """Return the words that the sections of a candidate query look for, as FTS5 takes them."""
    return [f"({word})" for name in ("lexical", "synonyms") for word in sections.get(name) or ()]


def search_words(select: Select, argument: Mapping[str, Any], bounds: WordsBounds, kept: KeptPostings) -> Words:
    """Search the index of words for the terms of a candidate query's argument."""
    if not bounds.memories:
        return Words([[term, 0] for term, _ in enumerate(words_of(argument))], [], [])
    return _WordsSearch(argument, bounds, WordsReader(select, kept)).words()


@dataclass(slots=True)
class _WordsSearch:
    argument: Mapping[str, Any]
    bounds: WordsBounds
    reader: WordsReader
    found: list[_Term] = field(default_factory=list)
    """The terms that a memory has, the rarest first."""

    def words(self) -> Words:
        terms = [self._read(term, word, own) for term, word, own in self._wanted()]
        chosen = self._choose(terms)
        seen: list[Json] = [[term.term, term.seen] for term in terms]
        if not chosen:
            return Words(seen, *self._with_all_words())
        further = _Further(self, chosen)
        numbers: list[int] = []
        counts: list[int] = []
        for term in self.found:
            of_term = [*(term.numbers if term.chosen else ()), *further.memories(term)]
            numbers += of_term
            counts.append(len(of_term))
        bits = np.array([term.bit for term in self.found], np.int64)
        return Words(seen, *self._by_kind(np.array(numbers, np.int64), bits.repeat(counts), bits))

    def _by_kind(self, numbers: Numbers, words: Numbers, bits: Numbers) -> tuple[Json, Json]:
        """Return the kinds of memories, and the memories, of memories' numbers and the bit of a word that each has."""
        if not len(numbers):
            return [], []
        order = numbers.argsort(kind="stable")
        memories, first = np.unique(numbers[order], return_index=True)
        kinds, of_memories = np.unique(np.bitwise_or.reduceat(words[order], first), return_inverse=True)
        weights = [term.weight for term in self.found]
        has = (kinds[:, np.newaxis] & bits != 0).tolist()
        return (
            [[fsum(compress(weights, words)), kind] for words, kind in zip(has, kinds.tolist(), strict=True)],
            (memories * NEXT_KIND + of_memories).tolist(),
        )

    def _wanted(self) -> Iterable[tuple[int, str, int]]:
        """Give each word with its number and its weight; synonyms are numbered behind the query's own words."""
        own = len(self.argument.get("lexical") or [])
        for term, word in enumerate(words_of(self.argument)):
            yield term, word, _OWN if term < own else _SYNONYM

    def _read(self, term: int, word: str, own: int) -> _Term:
        """Read the memories that have a term: all of them, or the newest of a term that seems to be common."""
        bounds, expression = self.bounds, self.bounds.in_scope + word
        every, sampled, common = self.reader.first_of(word, expression), None, False
        if every is None and not bounds.small:
            sampled = self._in_sample(word)
            common = _SAMPLED * sampled >= bounds.common
        if every is None:
            every = self.reader.all_of(word, expression, common=common)
        if every is not None:
            numbers = every[: -bounds.window - 1 : -1].tolist()
            sampled = int(np.count_nonzero(every & _SAMPLED - 1 == 0)) if len(numbers) == bounds.window else 0
        elif common and self.reader.count(expression, bounds.window) == bounds.window:
            return _Term(term, word, own, None, [], is_complete=False, seen=self._estimated(sampled or 0))
        else:
            numbers = self.reader.newest(expression, bounds.window)
        if len(numbers) < bounds.window:
            return _Term(term, word, own, every, numbers, is_complete=True, seen=len(numbers))
        seen = self._estimated(self._in_sample(word) if sampled is None else sampled)
        return _Term(term, word, own, every, numbers, is_complete=False, seen=seen)

    def _estimated(self, sampled: int) -> int:
        """Return about how many memories have a word, of which ``sampled`` were counted among each 16th memory.

        The count ends where the word is common.
        """
        counted = min(sampled, self.bounds.common // _SAMPLED + 1)
        return max(self.bounds.window, min(self.bounds.memories, _SAMPLED * counted))

    def _in_sample(self, word: str) -> int:
        return self.reader.count(self.bounds.in_sample + word, self.bounds.common // _SAMPLED + 1)

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
        numbers = self._of_rarest()
        after, most = numbers[0] - 40 * (numbers[0] - numbers[-1]), self.bounds.shared
        every = _known(own)
        with_all = self._search_all(own, after, most) if every is None else postings.newest_in_all(every, after, most)
        found: list[Json] = [number * NEXT_KIND for number in sorted(with_all)]
        return [[fsum(term.weight for term in own), sum(term.bit for term in own)]], found

    def _of_rarest(self) -> Sequence[int]:
        """Return the newest memories that have the rarest term."""
        rarest, window = self.found[0], self.bounds.window
        return rarest.numbers or self.reader.newest(self.bounds.in_scope + rarest.word, window)

    def _search_all(self, own: Sequence[_Term], after: int, most: int) -> Collection[int]:
        """Search for the newest memories that have all of these terms, three at a time while they are many."""
        rarest, others = own[:3], own[3:]
        with_all = self.reader.newest(self._with_words(rarest), _FEW + 1 if others else most, after=after)
        if others and len(with_all) > _FEW:
            return self.reader.newest(self._with_words(own), most, after=after)
        for term in others:
            with_all = self.reader.among(with_all, term.word)
        return with_all

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
    def _hits(self) -> tuple[Numbers, Numbers]:
        """The numbers of the vector index's best hits, and their places."""
        search = self._search
        return search.reader.hits(search.argument.get("semantic") or [], self._bounds.hits)

    @cached_property
    def _of_chosen(self) -> Numbers | None:
        """All memories of the chosen terms; None where they are not known."""
        every = _known(self._chosen)
        return None if every is None else postings.together(every)

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
        reader, most, chosen = self._search.reader, self._bounds.shared, self._of_chosen
        if chosen is not None and term.every is not None:
            return postings.newest_in_any(chosen, [term.every], most)
        if chosen is not None and len(chosen) <= _FEW and self._bounds.in_scope.startswith("scope"):
            return set(reader.among(chosen[::-1].tolist(), term.word)[:most])
        return set(reader.newest(self._expression(term, self._chosen), most, after=0))

    def _with_other_words(self, term: _Term) -> set[int]:
        """Return the newest memories, older than the window, that have a chosen term and another term too."""
        others, most = [other for other in self._asked if other is not term], self._bounds.shared
        if not others:
            return set()
        every = _known(others)
        if every is not None and term.every is not None:
            return postings.newest_in_any(term.every[: -len(term.numbers)], every, most)
        reader = self._search.reader
        return set(reader.newest(self._expression(term, others), most, before=term.numbers[-1], after=0))

    def _among_hits(self, term: _Term, found: Collection[int]) -> set[int]:
        """Return which of the vector index's hits have a term."""
        bounds = self._bounds
        most = bounds.hits if term.seen < bounds.common else bounds.hits_of_common
        before = term.numbers[-1] if term.chosen else NO_NUMBER
        numbers, places = self._hits
        hits = numbers[(places < most) & (numbers < before)]
        if term.every is None:
            return set(self._search.reader.among(set(hits.tolist()).difference(found), term.word))
        return set(hits[held(hits, term.every)].tolist())

    def _expression(self, term: _Term, others: Iterable[_Term]) -> str:
        return f"{self._bounds.in_scope}{term.word} AND ({' OR '.join(other.word for other in others)})"


def _known(terms: Sequence[_Term]) -> list[Numbers] | None:
    """Return all memories of each term; None where not all of them have been read."""
    every = [term.every for term in terms if term.every is not None]
    return every if len(every) == len(terms) else None
