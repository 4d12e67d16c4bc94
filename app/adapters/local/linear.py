"""Linear layers in numpy, whose weights lie as BLAS multiplies them fastest on this processor."""

from functools import cache
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_info

Matrix: TypeAlias = npt.NDArray[np.float32]

_BLOCK = 32
_MOST_PRODUCTS = 1_000_000
"""OpenBLAS multiplies with AVX-512 without copying its operands first, if they have no more products than this.

It is fastest with blocks of 32 columns: a question is multiplied in half of the time, 80 tokens in five sixths, and
from 256 tokens on nothing is gained. On other processors blocks are a tenth slower.
"""
_FEWEST_ROWS = 16
"""Fewer rows at once are slower than the whole."""
_AVX512 = {"SkylakeX", "Cooperlake", "SapphireRapids"}


class Linear(Protocol):
    """A linear layer."""

    def __call__(self, inputs: Matrix, out: Matrix) -> None:
        """Compute the outputs of rows of inputs."""


class WholeLinear:
    """Multiplies with all weights at once."""

    def __init__(self, weight: Matrix, bias: Matrix) -> None:
        """Take weights with one row for each input, which BLAS multiplies faster than one for each output."""
        self._weight = np.ascontiguousarray(weight)
        self._bias = bias

    def __call__(self, inputs: Matrix, out: Matrix) -> None:
        """Compute the outputs of rows of inputs."""
        np.matmul(inputs, self._weight, out=out)
        out += self._bias


class BlockedLinear:
    """Multiplies a few rows at a time with blocks of the weights."""

    def __init__(self, weight: Matrix, bias: Matrix) -> None:
        """Take weights with one row for each input, and a multiple of 32 outputs."""
        inputs, outputs = weight.shape
        self._blocks = np.ascontiguousarray(weight.reshape(inputs, outputs // _BLOCK, _BLOCK).transpose(1, 0, 2))
        self._bias = bias
        self._rows = _rows_at_once(inputs)

    def __call__(self, inputs: Matrix, out: Matrix) -> None:
        """Compute the outputs of rows of inputs."""
        for start in range(0, len(inputs), self._rows):
            rows = out[start : start + self._rows]
            blocks = rows.reshape(len(rows), -1, _BLOCK).transpose(1, 0, 2)
            np.matmul(inputs[start : start + self._rows], self._blocks, out=blocks)
        out += self._bias


def linear(weight: Matrix, bias: Matrix) -> Linear:
    """Return the layer that is fastest here, of weights with one row for each input."""
    inputs, outputs = weight.shape
    if outputs % _BLOCK or _rows_at_once(inputs) < _FEWEST_ROWS or not _multiplies_small_matrices():
        return WholeLinear(weight, bias)
    return BlockedLinear(weight, bias)


def _rows_at_once(inputs: int) -> int:
    return _MOST_PRODUCTS // (inputs * _BLOCK) // 4 * 4


@cache
def _multiplies_small_matrices() -> bool:
    """Return whether numpy's BLAS is OpenBLAS with the code for AVX-512."""
    return any(library.get("architecture") in _AVX512 for library in threadpool_info())
