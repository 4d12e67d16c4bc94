"""Splits long texts into windows for models behind an API, and averages the vectors of the windows.

A token is at least one byte, so a window of as many bytes as the model accepts tokens always fits. Exact
counts would need each model's vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.embedding import Vector
from app.domain.errors import UpstreamRejected

_SPACES = b" \t\n\r"
_HIGH_BITS, _CONTINUATION = 0xC0, 0x80
"""The high bits of a byte in UTF-8, and their value in a byte that continues a character."""


@dataclass(frozen=True, slots=True)
class TextWindow:
    """A part of a text that fits the model; ``text`` is the position of its text."""

    text: int
    content: str

    @property
    def size(self) -> int:
        """Return its length in UTF-8."""
        return len(self.content.encode())


def split(texts: Sequence[str], max_bytes: int) -> list[TextWindow]:
    """Split each text into windows of at most ``max_bytes`` bytes, between words where possible."""
    return [TextWindow(number, part) for number, text in enumerate(texts) for part in _parts(text, max_bytes)]


def batches(windows: Sequence[TextWindow], *, limit: int, max_bytes: int) -> Iterator[Sequence[TextWindow]]:
    """Group windows, in order, into calls of at most ``limit`` windows and ``max_bytes`` bytes."""
    start = size = 0
    for position, window in enumerate(windows):
        if position - start == limit or (position > start and size + window.size > max_bytes):
            yield windows[start:position]
            start, size = position, 0
        size += window.size
    if start < len(windows):
        yield windows[start:]


def average(windows: Sequence[TextWindow], vectors: Sequence[Vector], dimensions: int) -> list[Vector]:
    """Return one unit vector per text: the average of its windows' vectors, weighted by their length.

    Raises:
        UpstreamRejected: a vector is missing, has other dimensions, or cannot be normalized.
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
    """Normalize a vector to unit length."""
    exact = vector.astype(np.float64)
    norm = float(np.linalg.norm(exact))
    if not 0 < norm < np.inf:
        raise UpstreamRejected("The embedding model answered a vector that has no direction.")
    unit: npt.NDArray[np.float64] = exact / norm
    return unit


def _parts(text: str, max_bytes: int) -> Iterator[str]:
    data = (text or " ").encode()  # the service refuses a call with an empty input
    if len(data) <= max_bytes:
        yield data.decode()
        return
    start = 0
    while start < len(data):
        end = _end(data, start, max_bytes)
        part = data[start:end].decode()
        if part.strip() or start == 0:
            yield part
        start = end + 1 if data[end : end + 1].isspace() else end


def _end(data: bytes, start: int, max_bytes: int) -> int:
    """Return the end of the window that begins at ``start``, before white space if possible and between characters."""
    if len(data) - start <= max_bytes:
        return len(data)
    last = start + max_bytes
    end = next((at for at in range(last, start, -1) if data[at] in _SPACES), last)
    while end > start and data[end] & _HIGH_BITS == _CONTINUATION:
        end -= 1
    return end
