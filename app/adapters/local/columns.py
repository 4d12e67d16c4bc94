"""Columns of numbers and of texts that grow at their end; what was read of them before does not change."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

N = TypeVar("N", bound=np.generic)
Mask = npt.NDArray[np.bool_]

_DOUBLED = 64
"""A column of fewer numbers grows to twice its size: most scopes have few vectors."""


class Column(Generic[N]):
    """Numbers of one type: appended at the end; a removal builds a new array, so that arrays read before stay valid."""

    __slots__ = ("_array", "count")

    def __init__(self, of: type[N]) -> None:
        """Start empty."""
        self.count = 0
        self._array: npt.NDArray[N] = np.empty(0, of)

    @property
    def values(self) -> npt.NDArray[N]:
        """Return the numbers as they are now."""
        return self._array[: self.count]

    def append(self, values: npt.NDArray[N] | Sequence[Any]) -> None:
        """Add numbers at the end."""
        end = self.count + len(values)
        if end > len(self._array):
            grown = np.empty(max(end, self.count + max(self.count // 8, min(self.count, _DOUBLED))), self._array.dtype)
            grown[: self.count] = self.values
            self._array = grown
        self._array[self.count : end] = values
        self.count = end

    def keep(self, kept: Mask) -> None:
        """Remove the numbers at which ``kept``, which is as long as the column, is False."""
        self._array = self.values[kept]
        self.count = len(self._array)


class Texts:
    """Short texts as bytes one behind the other: an id takes 34 bytes, which as an object takes 90."""

    __slots__ = ("_bytes", "_ends")

    def __init__(self) -> None:
        """Start empty."""
        self._bytes = Column(np.uint8)
        self._ends = Column(np.int64)

    def __len__(self) -> int:
        """Return the number of texts."""
        return self._ends.count

    def append(self, texts: Sequence[str]) -> None:
        """Add texts at the end."""
        encoded = [text.encode() for text in texts]
        before = self._bytes.count
        self._bytes.append(np.frombuffer(b"".join(encoded), np.uint8))
        self._ends.append(before + np.cumsum([len(text) for text in encoded], dtype=np.int64))

    def keep(self, kept: Mask) -> None:
        """Remove the texts at which ``kept`` is False."""
        lengths = np.diff(self._ends.values, prepend=0)
        self._bytes.keep(np.repeat(kept, lengths))
        self._ends = Column(np.int64)
        self._ends.append(np.cumsum(lengths[kept]))

    def snapshot(self) -> "TextsSnapshot":
        """Return the texts as they are now."""
        return TextsSnapshot(self._bytes.values, self._ends.values)


class TextsSnapshot:
    """The texts of a column at one moment."""

    __slots__ = ("_bytes", "_ends")

    def __init__(self, values: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        """Take the bytes of all texts, and where each text ends."""
        self._bytes = values
        self._ends = ends

    def at(self, positions: Sequence[int]) -> list[str]:
        """Return the texts at these positions."""
        places = np.array(positions, np.intp)
        ends = self._ends[places].tolist()
        starts = np.where(places > 0, self._ends[places - 1], 0).tolist()
        every = self._bytes.data
        return [str(every[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]
