"""The processed vectors of one index, and the search through them."""

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_gateway_double.vectorize import filters
from memory_gateway_double.vectorize.filters import Condition, Scalar
from memory_gateway_double.vectorize.records import Given, Matrix

_SCORE_ERROR = 0.005
_FIRST_ROWS = 64
_FULL_SCAN_SHARE = 0.5
_LOWER_IS_BETTER = {"euclidean", "dot-product"}

Rows = npt.NDArray[np.intp]


@dataclass(slots=True)
class Stored:
    """One vector; ``indexed`` holds the properties that had a metadata index when it was processed."""

    given: Given
    row: int
    indexed: dict[str, Scalar]


class VectorMatrix:
    """Vectors in one array, and for each indexed property which rows hold which value. Not safe from two threads."""

    def __init__(self, dimensions: int, metric: str, seed: int) -> None:
        """Start empty."""
        self.dimensions = dimensions
        self._metric = metric
        self._seed = seed
        self._values: Matrix = np.zeros((_FIRST_ROWS, dimensions), np.float32)
        self._norms: Matrix = np.ones(_FIRST_ROWS, np.float32)
        self._phases: Matrix = np.zeros(_FIRST_ROWS, np.float32)
        self._at: list[Stored | None] = []
        self._free: list[int] = []
        self._stored: dict[str, Stored] = {}
        self._holders: dict[str, dict[tuple[type, Scalar], set[int]]] = {}
        self._namespaces: defaultdict[str, set[int]] = defaultdict(set)
        self._found: dict[tuple[object, ...], Rows] = {}

    def __len__(self) -> int:
        """How many vectors there are."""
        return len(self._stored)

    def get(self, id_: str) -> Stored | None:
        """Return a vector by its id."""
        return self._stored.get(id_)

    def ids(self) -> list[str]:
        """Return every id, in order."""
        return sorted(self._stored)

    def values(self, stored: Stored) -> Matrix:
        """Return a vector's values."""
        values: Matrix = self._values[stored.row].copy()
        return values

    def put(self, given: Given, values: Matrix, declared: Mapping[str, str]) -> None:
        """Add a vector, or replace one whole; only the declared properties can be filtered on."""
        self.remove(given.id)
        row = self._row()
        self._values[row] = values
        self._norms[row] = np.linalg.norm(values) or 1.0
        self._phases[row] = zlib.crc32(given.id.encode(), self._seed) % 6283 / 1000
        stored = Stored(given, row, filters.indexed(given.metadata, declared))
        self._at[row] = self._stored[given.id] = stored
        self._namespaces[given.namespace].add(row)
        for key, value in stored.indexed.items():
            self._holders.setdefault(key, {}).setdefault((type(value), value), set()).add(row)

    def remove(self, id_: str) -> None:
        """Take a vector away, if it is there."""
        self._found.clear()
        stored = self._stored.pop(id_, None)
        if stored is None:
            return
        self._at[stored.row] = None
        self._free.append(stored.row)
        self._namespaces[stored.given.namespace].discard(stored.row)
        for key, value in stored.indexed.items():
            self._holders[key][type(value), value].discard(stored.row)

    def forget_property(self, key: str) -> None:
        """Drop a metadata index and all it holds."""
        self._found.clear()
        self._holders.pop(key, None)
        for stored in self._stored.values():
            stored.indexed.pop(key, None)

    def search(
        self, vector: Matrix, top_k: int, conditions: Sequence[Condition], namespace: str | None, *, exact: bool
    ) -> list[tuple[Stored, float]]:
        """Return the best vectors that pass, the best first, with their scores."""
        rows = self._candidates(conditions, namespace)
        scores = self._scores(rows, vector)
        if not exact and len(rows):
            turn = zlib.crc32(vector.tobytes()) % 6283 / 1000
            scores = scores + np.float32(_SCORE_ERROR) * np.sin(self._phases[rows] + np.float32(turn))
        if self._metric == "cosine":
            scores = np.clip(scores, -1, 1)
        ranks = scores if self._metric in _LOWER_IS_BETTER else -scores
        best = np.arange(len(rows)) if len(rows) <= top_k else np.argpartition(ranks, top_k - 1)[:top_k]
        best = best[np.argsort(ranks[best], kind="stable")]
        hits = ((self._at[row], score) for row, score in zip(rows[best].tolist(), scores[best].tolist(), strict=True))
        return [(stored, score) for stored, score in hits if stored is not None]

    def _row(self) -> int:
        if self._free:
            return self._free.pop()
        row = len(self._at)
        if row == len(self._values):
            self._values = np.concatenate([self._values, np.zeros_like(self._values)])
            self._norms = np.concatenate([self._norms, np.ones_like(self._norms)])
            self._phases = np.concatenate([self._phases, np.zeros_like(self._phases)])
        self._at.append(None)
        return row

    def _candidates(self, conditions: Sequence[Condition], namespace: str | None) -> Rows:
        key = (namespace, *((c.key, c.operator, tuple(map(type, c.operands)), c.operands) for c in conditions))
        if (known := self._found.get(key)) is not None:
            return known
        sets = [] if namespace is None else [self._namespaces.get(namespace, set())]
        others: list[Condition] = []
        for condition in conditions:
            if condition.operator == "$eq":
                operand = condition.operands[0]
                sets.append(self._holders.get(condition.key, {}).get((type(operand), operand), set()))
            else:
                others.append(condition)
        sets.sort(key=len)
        rows: set[int] = sets[0].intersection(*sets[1:]) if sets else {stored.row for stored in self._stored.values()}
        passing = [row for row in rows if self._passes(row, others)] if others else rows
        self._found[key] = found = np.fromiter(sorted(passing), np.intp)
        return found

    def _passes(self, row: int, conditions: Sequence[Condition]) -> bool:
        """Whether a vector passes; one that a property's index does not know passes no condition on it."""
        stored = self._at[row]
        return stored is not None and all(
            condition.key in stored.indexed and condition.holds(stored.indexed[condition.key])
            for condition in conditions
        )

    def _scores(self, rows: Rows, vector: Matrix) -> Matrix:
        if len(rows) > len(self._at) * _FULL_SCAN_SHARE:
            dots: Matrix = (self._values[: len(self._at)] @ vector)[rows]
        else:
            dots = self._values[rows] @ vector
        norm = np.float32(np.linalg.norm(vector))
        if self._metric == "cosine":
            cosines: Matrix = dots / (self._norms[rows] * (norm or np.float32(1)))
            return cosines
        if self._metric == "dot-product":
            return -dots
        own = np.einsum("ij,ij->i", self._values[rows], self._values[rows])
        distances: Matrix = np.sqrt(np.maximum(own + norm * norm - 2 * dots, 0)).astype(np.float32)
        return distances
