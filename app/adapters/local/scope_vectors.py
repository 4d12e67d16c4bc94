"""Keeps the vectors of scopes in memory; every search first updates them from the file."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.domain.memory import Scope

Matrix = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

_BYTES_PER_NUMBER = 4
_BYTES_PER_ID = 100
_BYTES_PER_SCOPE = 1000
_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The vectors at one moment: column ``i`` of ``values`` is memory ``ids[i]``, written as number ``numbers[i]``.

    ``ids`` may have grown past the snapshot; ``numbers`` is ascending. ``unreadable`` is how many vectors are damaged.
    """

    numbers: Numbers
    ids: list[str]
    values: Matrix
    unreadable: int


@dataclass(slots=True)
class ScopeVectors:
    """The vectors of one scope: appended at the end; a removal builds new arrays, so that snapshots stay valid.

    ``values`` has a row for each dimension and a column for each vector: BLAS multiplies it with one query in half the
    time that it takes where the numbers of a vector stand together.
    """

    dimensions: int
    removals: int = 0
    count: int = 0
    numbers: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    ids: list[str] = field(default_factory=list)
    values: Matrix = field(init=False)
    unreadable: list[int] = field(default_factory=list)
    """The numbers of vectors that are damaged, ascending: they have another length than all others."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Start empty."""
        self.values = np.empty((self.dimensions, 0), np.float32)

    @property
    def last(self) -> int:
        """Return the highest number, 0 when empty."""
        readable = int(self.numbers[self.count - 1]) if self.count else 0
        return max(readable, self.unreadable[-1]) if self.unreadable else readable

    @property
    def size(self) -> int:
        """Return the approximate size in bytes, without the reserved capacity."""
        return _BYTES_PER_SCOPE + self.count * _bytes_per_vector(self.dimensions)

    def snapshot(self) -> Snapshot:
        """Return the current vectors; later changes do not affect the snapshot."""
        return Snapshot(self.numbers[: self.count], self.ids, self.values[:, : self.count], len(self.unreadable))

    def append(self, rows: list[tuple[int, str, bytes]]) -> None:
        """Add rows of number, id and vector, numbers ascending and above ``last``."""
        rows, unreadable = sorted_out(rows, self.dimensions)
        self.unreadable += unreadable
        end = self.count + len(rows)
        if end > len(self.numbers):
            self._grow(max(end, self.count + self.count // 8, _FIRST_CAPACITY))
        self.values[:, self.count : end] = columns([row[2] for row in rows], self.dimensions)
        self.numbers[self.count : end] = [row[0] for row in rows]
        self.ids.extend(row[1] for row in rows)
        self.count = end

    def keep(self, numbers: Numbers) -> None:
        """Remove every vector whose number is not among these."""
        kept = np.isin(self.numbers[: self.count], numbers, assume_unique=True)
        self.ids = [id_ for id_, keep in zip(self.ids, kept.tolist(), strict=True) if keep]
        self.values = self.values[:, : self.count][:, kept]
        self.numbers = self.numbers[: self.count][kept]
        self.count = len(self.ids)
        if self.unreadable:
            present = set(numbers.tolist())
            self.unreadable = [number for number in self.unreadable if number in present]

    def _grow(self, capacity: int) -> None:
        values = np.empty((self.dimensions, capacity), np.float32)
        numbers = np.empty(capacity, np.int64)
        values[:, : self.count] = self.values[:, : self.count]
        numbers[: self.count] = self.numbers[: self.count]
        self.values, self.numbers = values, numbers


class ScopeCache:
    """A cache of the most recently searched scopes, within a budget of bytes."""

    def __init__(self, dimensions: int, budget: int) -> None:
        """Keep vectors of ``dimensions`` numbers in at most ``budget`` bytes."""
        self._dimensions = dimensions
        self._budget = budget
        self._held = 0
        self._scopes: OrderedDict[Scope, ScopeVectors] = OrderedDict()
        self._sizes: dict[Scope, int] = {}
        self._lock = threading.Lock()

    def get(self, scope: Scope) -> ScopeVectors:
        """Return the scope's vectors, empty at first, and mark them as recently used."""
        with self._lock:
            vectors = self._scopes.get(scope)
            if vectors is None:
                vectors = self._scopes[scope] = ScopeVectors(self._dimensions)
            self._scopes.move_to_end(scope)
            return vectors

    def resized(self, scope: Scope, size: int) -> None:
        """Record the size of a scope, and evict the least recently searched scopes until the rest fit the budget."""
        with self._lock:
            if scope in self._scopes:
                self._held += size - self._sizes.get(scope, 0)
                self._sizes[scope] = size
            while self._held > self._budget and self._scopes:
                oldest, _ = self._scopes.popitem(last=False)
                self._held -= self._sizes.pop(oldest, 0)

    def forget(self, scope: Scope) -> None:
        """Remove a scope."""
        with self._lock:
            self._scopes.pop(scope, None)
            self._held -= self._sizes.pop(scope, 0)

    def fits(self, vectors: int) -> bool:
        """Return whether a scope with this number of vectors fits the budget."""
        return _BYTES_PER_SCOPE + vectors * _bytes_per_vector(self._dimensions) <= self._budget


def sorted_out(rows: list[tuple[int, str, bytes]], dimensions: int) -> tuple[list[tuple[int, str, bytes]], list[int]]:
    """Return the rows whose vectors have these dimensions, and the numbers of the others, which are damaged."""
    size = dimensions * _BYTES_PER_NUMBER
    unreadable = [row[0] for row in rows if len(row[2]) != size]
    return ([row for row in rows if len(row[2]) == size] if unreadable else rows), unreadable


def columns(vectors: Sequence[bytes], dimensions: int) -> Matrix:
    """Return a matrix whose columns are these vectors, of which each is the bytes of float32 numbers."""
    return np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimensions).T


def cosines(queries: Matrix, values: Matrix) -> Sequence[Matrix]:
    """Return the product of each query, which is a row, with the columns of ``values``.

    The hashing embedder's vector of a short text is zero in most dimensions. Of such queries only the rows of the other
    dimensions are read: at 100,000 vectors, reading them all is most of a search's time.
    """
    used = [np.flatnonzero(query) for query in queries]
    if any(2 * len(nonzero) > len(values) for nonzero in used):
        return list(queries @ values)
    return [query[nonzero] @ values[nonzero] for query, nonzero in zip(queries, used, strict=True)]


def _bytes_per_vector(dimensions: int) -> int:
    return dimensions * _BYTES_PER_NUMBER + _BYTES_PER_ID
