"""Counts what is admitted in the current minute: in this process, or by all workers of one service together."""

import mmap
from hashlib import blake2b
from typing import TypeAlias

Key: TypeAlias = tuple[str | None, ...]
"""What is counted, such as the recalls of one tenant."""

_ROWS = 4096
"""Keys that a worker counts for others in a minute."""
_PROBES = 16
_WORDS = 2
_BYTES = 8
_COUNT_BITS = 24


class SharedTally:
    """The counts of several workers in memory that they share: a table of each, which no other worker writes.

    A row is the digest of a key, and a minute with a count; a row of a minute that has passed is free. Where two
    workers count at the same moment neither knows of the other's.
    """

    def __init__(self, workers: int) -> None:
        """Make empty tables; processes that are forked from this one share them."""
        size = _ROWS * _WORDS
        self._cells = memoryview(mmap.mmap(-1, workers * size * _BYTES)).cast("Q")
        self._tables = [self._cells[number * size : (number + 1) * size] for number in range(workers)]

    def used(self, key: Key, minute: int) -> int:
        """Return how often all workers have counted a key in a minute."""
        digest = _digest(key)
        return sum(_count_in(table, digest, minute) for table in self._tables)

    def add(self, worker: int, key: Key, minute: int) -> bool:
        """Count a key once more, as a worker; return whether there was room for it."""
        table, digest = self._tables[worker], _digest(key)
        free = None
        for row in _rows(digest):
            told, count = divmod(table[row + 1], 1 << _COUNT_BITS)
            if table[row] == digest and told == minute:
                table[row + 1] = (minute << _COUNT_BITS) | (count + 1)
                return True
            if free is None and told != minute:
                free = row
        if free is None:
            return False
        table[free + 1] = 0  # nobody takes the new key for the old one's count
        table[free] = digest
        table[free + 1] = (minute << _COUNT_BITS) | 1
        return True


class MinuteTally:
    """Counts by key in the current minute, as one of several workers or alone."""

    def __init__(self, shared: SharedTally | None = None, worker: int = 0) -> None:
        """Take the counts of all workers, if there are several, and the number of this one, from 0."""
        self._shared = shared
        self._worker = worker
        self._minute = 0
        self._own: dict[Key, int] = {}
        """What only this process counts: all where it is alone, else that for which the table had no room."""

    def used(self, key: Key, minute: int) -> int:
        """Return how often a key was counted in a minute."""
        self._begin(minute)
        return self._own.get(key, 0) + (0 if self._shared is None else self._shared.used(key, minute))

    def add(self, key: Key, minute: int) -> None:
        """Count a key once more in a minute."""
        self._begin(minute)
        if self._shared is None or not self._shared.add(self._worker, key, minute):
            self._own[key] = self._own.get(key, 0) + 1

    def _begin(self, minute: int) -> None:
        if minute != self._minute:
            self._minute = minute
            self._own.clear()


def _digest(key: Key) -> int:
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=_BYTES).digest()) | 1


def _rows(digest: int) -> range:
    """Return the cells in which the rows of a key begin: few, of which the first free one is taken."""
    first = (digest >> 1) % (_ROWS - _PROBES)
    return range(first * _WORDS, (first + _PROBES) * _WORDS, _WORDS)


def _count_in(table: memoryview, digest: int, minute: int) -> int:
    for row in _rows(digest):
        if table[row] == digest:
            told, count = divmod(table[row + 1], 1 << _COUNT_BITS)
            if told == minute and table[row] == digest:
                return count
    return 0
