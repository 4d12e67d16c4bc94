"""The vectors of one scope in memory, as columns of matrices."""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import apsw
import numpy as np
import numpy.typing as npt

from app.adapters.local.columns import Column, Mask, Texts, TextsSnapshot
from app.adapters.local.filter_columns import Facts, FilterColumns, FilterSnapshot
from app.adapters.local.shared_blocks import SharedBlocks

Matrix = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]
Positions = npt.NDArray[np.intp]
Row = tuple[int, str, bytes]

BLOCK = 4096
"""The vectors of a full matrix: a scope that grows or loses a vector copies no more than these."""
_TOGETHER = 4
"""From so many queries on that are not zero in a third of the dimensions, one product of matrices takes less time."""
_COPIED = 3 << 16
"""The numbers that are copied at once, about: a processor's own cache has room for them."""
_STEP = 256
"""As many columns, or times as many, are multiplied at once: BLAS adds up the last few of others in another order."""
_BYTES_PER_NUMBER = 4
_BYTES_PER_ID = 50
_BYTES_PER_SCOPE = 2000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The vectors at one moment: column ``i``, through all ``blocks``, is the memory ``i`` of ``ids``.

    ``numbers``, under which they are written, are ascending. ``unreadable`` is how many vectors are damaged.
    ``filters`` may have fewer rows.
    """

    numbers: Numbers
    ids: TextsSnapshot
    blocks: Sequence[Matrix]
    unreadable: int
    filters: FilterSnapshot | None = None


@dataclass(slots=True)
class ScopeVectors:
    """The vectors of one scope: appended at the end; a removal builds new arrays, so that snapshots stay valid.

    A matrix has a row for each dimension and a column for each vector: BLAS multiplies it with one query in half the
    time that it takes where the numbers of a vector stand together.
    """

    dimensions: int
    changes: int = 0
    """The count of removals and renewals in the scope that the vectors show."""
    schema: int = 0
    """The version of the schema of the file that the vectors were read from."""
    numbers: Column[np.int64] = field(default_factory=lambda: Column(np.int64))
    ids: Texts = field(default_factory=Texts)
    filters: FilterColumns | None = None
    """What a filter compares; None until the first filter, and where it needs too much memory."""
    filters_too_large: bool = False
    unreadable: list[int] = field(default_factory=list)
    """The numbers of vectors that are damaged, ascending: they have another length than all others."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    checked: "WeakKeyDictionary[apsw.Connection, tuple[int, int, int]]" = field(default_factory=WeakKeyDictionary)
    """For each connection the version of the data, its own writes, and ``changes``, when these were current."""
    _blocks: list[Matrix] = field(default_factory=list)
    _reserved: Matrix = field(init=False)
    """The last block with room for more."""

    def __post_init__(self) -> None:
        """Start empty."""
        self._reserved = np.empty((self.dimensions, 0), np.float32)

    @property
    def count(self) -> int:
        """Return the number of vectors."""
        return self.numbers.count

    @property
    def first(self) -> int:
        """Return the lowest number, 0 when empty."""
        return min([*self.numbers.values[:1].tolist(), *self.unreadable[:1]], default=0)

    @property
    def last(self) -> int:
        """Return the highest number, 0 when empty."""
        readable = int(self.numbers.values[-1]) if self.count else 0
        return max(readable, self.unreadable[-1]) if self.unreadable else readable

    @property
    def size(self) -> int:
        """Return the approximate size in bytes, without the reserved capacity."""
        return bytes_of(self.count, self.dimensions) + (self.filters.size if self.filters else 0)

    def snapshot(self) -> Snapshot:
        """Return the current vectors; later changes do not affect the snapshot."""
        filters = self.filters.snapshot() if self.filters else None
        return Snapshot(self.numbers.values, self.ids.snapshot(), tuple(self._blocks), len(self.unreadable), filters)

    def begin(self, schema: int) -> None:
        """Begin to read from a file with this version of its schema; with another than before, nothing is kept.

        The file may hold another database than before, in which the same numbers stand for other vectors.
        """
        if self.schema != schema:
            self._keep(np.zeros(self.count, np.bool_))
            self.changes, self.unreadable, self.filters, self.filters_too_large = 0, [], None, False
            self.schema = schema

    def append(self, rows: list[Row]) -> None:
        """Add rows of number, id and vector, numbers ascending and above ``last``."""
        rows, unreadable = sorted_out(rows, self.dimensions)
        self.unreadable += unreadable
        for start in range(0, len(rows), BLOCK):
            self._append(columns([row[2] for row in rows[start : start + BLOCK]], self.dimensions))
        self.numbers.append([row[0] for row in rows])
        self.ids.append([row[1] for row in rows])

    def keep(self, numbers: Numbers) -> None:
        """Remove every vector whose number is not among these."""
        self._keep(np.isin(self.numbers.values, numbers, assume_unique=True))
        present = set(numbers.tolist()) if self.unreadable else ()
        self.unreadable = [number for number in self.unreadable if number in present]

    def renew(self, facts: Mapping[int, Facts]) -> None:
        """Replace what a filter compares of the vectors with these numbers, as far as it is here."""
        if self.filters is None:
            return
        here = {int(self.numbers.values[position]): position for position in self.positions(facts).tolist()}
        renewed = {position: facts[number] for number, position in here.items() if position < self.filters.count}
        if renewed:
            self.filters.renew([*renewed], [*renewed.values()])

    def remove(self, numbers: Collection[int]) -> None:
        """Remove the vectors with these numbers, where they are here."""
        positions = self.positions(numbers)
        if positions.size:
            kept = np.ones(self.count, np.bool_)
            kept[positions] = False
            self._keep(kept)
        self.unreadable = [number for number in self.unreadable if number not in numbers]

    def positions(self, numbers: Iterable[int]) -> Positions:
        """Return the positions of the numbers that are here."""
        own = self.numbers.values
        wanted = np.array(sorted(numbers), np.int64)
        found = np.searchsorted(own, wanted)
        inside = found < self.count
        positions = found[inside]
        here: Positions = positions[own[positions] == wanted[inside]]
        return here

    def share(self, shared: SharedBlocks, owner: str) -> bool:
        """Put the blocks that stay as they are, which are all but the last, into memory that other processes share.

        Return whether there was one that is shared now and was not before.
        """
        has_shared = False
        start = 0
        for place, block in enumerate(self._blocks):
            end = start + block.shape[1]
            stays = place + 1 < len(self._blocks) or block.shape[1] == BLOCK
            if stays and block.flags.writeable:  # one that is shared is not
                common = shared.share(owner, self.numbers.values[start:end], block)
                if common is not None:
                    self._blocks[place] = common
                    self._reserved = common if place + 1 == len(self._blocks) else self._reserved
                    has_shared = True
            start = end
        return has_shared

    def _keep(self, kept: Mask) -> None:
        if self.filters is not None:
            self.filters.keep(kept[: self.filters.count])
        blocks: list[Matrix] = []
        start = 0
        for block in self._blocks:
            of_block = kept[start : start + block.shape[1]]
            start += len(of_block)
            left = block if of_block.all() else block[:, of_block]
            if blocks and blocks[-1].shape[1] + left.shape[1] <= BLOCK:  # the number of blocks stays small
                left = np.concatenate([blocks.pop(), left], axis=1)
            if left.shape[1]:
                blocks.append(left)
        if not (blocks and self._blocks and blocks[-1] is self._blocks[-1]):
            self._reserved = blocks[-1] if blocks else np.empty((self.dimensions, 0), np.float32)
        self._blocks = blocks
        self.numbers.keep(kept)
        self.ids.keep(kept)

    def _append(self, values: Matrix) -> None:
        """Add columns: behind those of the last block, as far as it has room, and in a new block."""
        room = BLOCK - self._blocks[-1].shape[1] if self._blocks else 0
        if room:
            self._fill(self._blocks.pop(), values[:, :room])
        if values.shape[1] > room:
            self._reserved = np.empty((self.dimensions, 0), np.float32)
            self._fill(self._reserved, values[:, room:])

    def _fill(self, block: Matrix, values: Matrix) -> None:
        count, end = block.shape[1], block.shape[1] + values.shape[1]
        if end > self._reserved.shape[1]:
            reserved = np.empty((self.dimensions, min(BLOCK, max(end, 2 * count))), np.float32)
            reserved[:, :count] = block
            self._reserved = reserved
        self._reserved[:, count:end] = values
        self._blocks.append(self._reserved[:, :end])


def sorted_out(rows: list[Row], dimensions: int) -> tuple[list[Row], list[int]]:
    """Return the rows whose vectors have these dimensions, and the numbers of the others, which are damaged."""
    size = dimensions * _BYTES_PER_NUMBER
    unreadable = [row[0] for row in rows if len(row[2]) != size]
    return ([row for row in rows if len(row[2]) == size] if unreadable else rows), unreadable


def columns(vectors: Sequence[bytes], dimensions: int) -> Matrix:
    """Return a matrix whose columns are these vectors, of which each is the bytes of float32 numbers."""
    return np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimensions).T


def cosines(queries: Matrix, blocks: Sequence[Matrix]) -> Matrix:
    """Return the product of each query, which is a row, with the columns of all blocks.

    The hashing embedder's vector of a short text is zero in most dimensions. Of such queries only the rows of the other
    dimensions are read: at 100,000 vectors, reading them all is most of a search's time. Each block is read once for
    all queries, while it is in the processor's cache.
    """
    products = np.empty((len(queries), sum(block.shape[1] for block in blocks)), np.float32)
    used = [np.flatnonzero(query) for query in queries]
    are_together = sum(3 * len(nonzero) > len(query) for nonzero, query in zip(used, queries, strict=True)) >= _TOGETHER
    start = 0
    for block in blocks:
        of_block = products[:, start : start + block.shape[1]]
        if are_together:
            np.matmul(queries, block, out=of_block)
        else:
            for query, nonzero, product in zip(queries, used, of_block, strict=True):
                _multiply(query, nonzero, block, product)
        start += block.shape[1]
    return products


def _multiply(query: Matrix, nonzero: Positions, block: Matrix, product: Matrix) -> None:
    """Write the product of a query with the columns of a block; ``nonzero`` are the dimensions in which it is not 0."""
    if 2 * len(nonzero) > len(query):
        np.dot(query, block, out=product)
        return
    values = query[nonzero]
    width = _COPIED // max(len(nonzero), 1) // _STEP * _STEP or _STEP
    for start in range(0, block.shape[1], width):
        part = slice(start, start + width)
        np.dot(values, block[:, part][nonzero], out=product[part])


def bytes_of(vectors: int, dimensions: int) -> int:
    """Return the approximate size in bytes of a scope with this number of vectors."""
    return _BYTES_PER_SCOPE + vectors * (dimensions * _BYTES_PER_NUMBER + _BYTES_PER_ID)
