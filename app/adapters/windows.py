"""Long texts for models behind an API: cut into windows by their bytes, averaged, never cut off.

A token is at least one byte, so a window of as many bytes as the model takes tokens always fits. Exact
counts would need each model's own vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.embedding import Vector
from app.domain.errors import UpstreamRejected

_SPACES = b" \t\n\r"
_HIGH_BITS, _CONTINUATION = 0xC0, 0x80
"""How UTF-8 marks a byte that is inside a character."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text that the model takes at once; ``text`` is the number of the text it is of."""

    text: int
    content: str

    @property
    def size(self) -> int:
        """Bytes in UTF-8: its length in the measure windows are cut by."""
        return len(self.content.encode())


def split(texts: Sequence[str], most: int) -> list[Window]:
    """Cut each text into windows of at most ``most`` bytes, between words where there are any."""
    return [Window(number, part) for number, text in enumerate(texts) for part in _parts(text, most)]


def batches(windows: Sequence[Window], *, most: int, most_bytes: int) -> Iterator[Sequence[Window]]:
    """Gather windows, in order, into calls of at most so many windows and bytes."""
    start = size = 0
    for position, window in enumerate(windows):
        if position - start == most or (position > start and size + window.size > most_bytes):
            yield windows[start:position]
            start, size = position, 0
        size += window.size
    if start < len(windows):
        yield windows[start:]


def average(windows: Sequence[Window], vectors: Sequence[Vector], dimensions: int) -> list[Vector]:
    """Return one vector of unit length a text: its windows' vectors, averaged by their length.

    Raises:
        UpstreamRejected: a vector is missing, has other dimensions, or cannot be brought to unit length.
    """
    if len(vectors) != len(windows) or any(vector.shape != (dimensions,) for vector in vectors):
        raise UpstreamRejected(
            f"The embedding model answered other vectors than one of {dimensions} dimensions a text."
        )
    if not windows:
        return []
    sums = np.zeros((windows[-1].text + 1, dimensions))
    for window, vector in zip(windows, vectors, strict=True):
        sums[window.text] += max(1, window.size) * _unit(vector)
    return [_unit(total).astype(np.float32) for total in sums]


def _unit(vector: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Bring a vector to unit length."""
    exact = vector.astype(np.float64)
    norm = float(np.linalg.norm(exact))
    if not 0 < norm < np.inf:
        raise UpstreamRejected("The embedding model answered a vector that has no direction.")
    unit: npt.NDArray[np.float64] = exact / norm
    return unit


def _parts(text: str, most: int) -> Iterator[str]:
    data = (text or " ").encode()  # an empty input is refused, and would take the whole call with it
    if len(data) <= most:
        yield data.decode()
        return
    start = 0
    while start < len(data):
        end = _end(data, start, most)
        part = data[start:end].decode()
        if part.strip() or start == 0:
            yield part
        start = end + 1 if data[end : end + 1].isspace() else end


def _end(data: bytes, start: int, most: int) -> int:
    """Where the window that begins at ``start`` ends: before white space if it has any, never inside a character."""
    if len(data) - start <= most:
        return len(data)
    last = start + most
    end = next((at for at in range(last, start, -1) if data[at] in _SPACES), last)
    while end > start and data[end] & _HIGH_BITS == _CONTINUATION:
        end -= 1
    return end
