"""Postings: the memories that have a word, in the order of their numbers, as the index of words has them.

They are kept between searches, and read on from where the last search stopped (ADR 0097). What was kept holds until a
memory is removed or reworded, which the database counts: new memories have higher numbers than all before them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.json_types import Json, to_json
from app.ports.database import Select
from app.storage.damaged_words import ALL_INDEXED

Numbers: TypeAlias = NDArray[np.int64]
"""Numbers of memories, the oldest first; none comes twice."""

NO_NUMBER: Final = 9_000_000_000_000_000_000
"""A number that no memory has, above all others."""
WALKED = 1500
"""The memories of a word that are read at most in one search: what is kept grows by so many each time."""
_FIRST = 200
"""The memories of a word that are read before it is known whether the word is common."""
_READ_ON = 4 * WALKED
"""The memories read in one search of all words together that seem to be common, or were read in part before."""
_COMPARED = 512
"""The numbers that are looked for at once in others: the newest come first, and few are wanted."""
_NONE = np.empty(0, np.int64)

_STATE = f"""
SELECT json_array(
  json_array(removals, schema_version), indexed_to = {ALL_INDEXED},
  (SELECT coalesce(max(number), -1) FROM memory_number)
) FROM words_index CROSS JOIN pragma_schema_version
"""
_NEXT = """
SELECT json_group_array(number) FROM (
  SELECT rowid AS number FROM memory_words WHERE memory_words MATCH ?1 AND rowid > ?2 ORDER BY rowid LIMIT ?3
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


class Postings(NamedTuple):
    """The memories that have a word, of those with a number up to ``upto``."""

    numbers: Numbers
    upto: int
    state: Sequence[int]
    """The state of the database as of which these hold: its count of what was removed or reworded, and the version of
    its schema, which is another one where SQLite's backup has written another database into the file."""

    @property
    def size(self) -> int:
        """The bytes that they take, about, with what a cache has beside them, but without the word."""
        return self.numbers.nbytes + 600


@dataclass(slots=True)
class KeptPostings:
    """The postings that a search of one scope is given, by word, and those that it has read."""

    given: Mapping[str, Postings] = field(default_factory=dict)
    read: dict[str, Postings] = field(default_factory=dict)
    """What is to be kept in the place of what was given."""


class WordsReader:
    """Reads the index of words on the snapshot of one run."""

    def __init__(self, select: Select, kept: KeptPostings) -> None:
        """Read with ``select``, and what was kept, of the scope that the expressions name."""
        self._select = select
        self._state, is_whole, self._newest = select(_STATE, ())
        self._kept = kept if is_whole else KeptPostings()
        self._left = _READ_ON

    def first_of(self, word: str, expression: str) -> Numbers | None:
        """Return all memories that a word's expression finds, if they are few or were kept; else None."""
        return self._read(word, expression, _FIRST if self._kept_of(word) is None else self._left)

    def all_of(self, word: str, expression: str, *, common: bool) -> Numbers | None:
        """Return all memories that the expression finds; None where they are too many to be read in one search.

        ``common``: whether the word seems to be common. Of such words, fewer are read in all.
        """
        return self._read(word, expression, self._left if common else WALKED)

    def _read(self, word: str, expression: str, most: int) -> Numbers | None:
        """Read on for at most so many memories; return all, or None where there are more."""
        postings = self._kept_of(word) or Postings(_NONE, -1, self._state)
        if postings.upto < self._newest and most:
            postings = self._read_on(word, expression, postings, min(most, WALKED))
        if postings.upto > self._newest:  # a search on a newer snapshot has read on
            return postings.numbers[: postings.numbers.searchsorted(self._newest, "right")]
        return postings.numbers if postings.upto == self._newest else None

    def _kept_of(self, word: str) -> Postings | None:
        postings = self._kept.read.get(word) or self._kept.given.get(word)
        return None if postings is None or postings.state != self._state else postings

    def _read_on(self, word: str, expression: str, postings: Postings, most: int) -> Postings:
        more = self._numbers(_NEXT, expression, postings.upto, most)
        self._left = max(0, self._left - len(more))
        numbers = np.concatenate([postings.numbers, np.array(more, np.int64)]) if more else postings.numbers
        postings = Postings(numbers, self._newest if len(more) < most else more[-1], self._state)
        self._kept.read[word] = postings
        return postings

    def newest(self, expression: str, most: int, *, before: int = NO_NUMBER, after: int = -1) -> Sequence[int]:
        """Return the numbers of the newest memories that match, the newest first."""
        return self._numbers(_NEWEST, expression, before, after, most)

    def among(self, numbers: Collection[int], word: str) -> Sequence[int]:
        """Return those of the memories that have a word, in their order."""
        return self._numbers(_AMONG, word, str(list(numbers))) if numbers else []

    def count(self, expression: str, most: int) -> int:
        """Return how many memories match; the count ends at ``most``."""
        count: int = self._select(_COUNT, (expression, most))
        return count

    def hits(self, semantic: Json, most: int) -> tuple[Numbers, Numbers]:
        """Return the numbers of the first hits of the vector index that are memories, and the place of each."""
        hits = np.array(self._select(_HITS, (to_json(semantic), most)), np.int64).reshape(-1, 2)
        return hits[:, 0], hits[:, 1]

    def _numbers(self, sql: str, *parameters: str | int) -> list[int]:
        numbers: list[int] = self._select(sql, parameters)
        return numbers


def held(numbers: Numbers, by: Numbers) -> NDArray[np.bool_]:
    """Return which of the numbers are among others."""
    if not len(by):
        return np.zeros(len(numbers), np.bool_)
    return np.equal(by.take(by.searchsorted(numbers), mode="clip"), numbers)


def newest_in_any(numbers: Numbers, others: Sequence[Numbers], most: int) -> set[int]:
    """Return the newest of the numbers that are in one of the others or more, ``most`` at most."""
    found: list[int] = []
    for end in range(len(numbers), 0, -_COMPARED):
        part = numbers[max(0, end - _COMPARED) : end]
        is_held = held(part, others[0])
        for other in others[1:]:
            is_held |= held(part, other)
        found += part[is_held][::-1].tolist()
        if len(found) >= most:
            break
    return set(found[:most])


def newest_in_all(postings: Sequence[Numbers], after: int, most: int) -> set[int]:
    """Return the newest numbers behind ``after`` that are in all of the postings, ``most`` at most."""
    few, *others = sorted(postings, key=len)
    few = few[few.searchsorted(after, "right") :]
    for other in others:
        few = few[held(few, other)]
    return set(few[-most:].tolist())


def together(postings: Sequence[Numbers]) -> Numbers:
    """Return the numbers that are in one of the postings or more."""
    numbers = np.sort(np.concatenate(postings))
    return numbers[np.append(numbers[1:] != numbers[:-1], True)] if len(numbers) else numbers
