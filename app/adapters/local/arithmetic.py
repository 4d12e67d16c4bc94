"""In which numbers an encoder computes: the fastest that this processor has (ADR 0004)."""

from collections.abc import Callable
from dataclasses import dataclass

from app.adapters.local.bfloat16 import BFloat16Linear, multiplies_tiles
from app.adapters.local.gelu import gelu, rounded_gelu
from app.adapters.local.linear import Linear, Matrix, linear


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What the time of a forward pass depends on."""

    linear: Callable[[Matrix, Matrix], Linear]
    """Makes a linear layer of weights, with one row for each input, and biases."""
    gelu: Callable[[Matrix], None]
    """Applies the Gaussian error linear unit in place."""


def float32() -> Arithmetic:
    """Return the arithmetic whose vectors are the model's to about 1e-7."""
    return Arithmetic(linear, gelu)


def bfloat16() -> Arithmetic:
    """Return the arithmetic whose vectors have a cosine of at least 0.9999 to the model's, with MiniLM."""
    return Arithmetic(BFloat16Linear, rounded_gelu)


def fastest() -> Arithmetic:
    """Return the arithmetic that is fastest on this processor."""
    return bfloat16() if multiplies_tiles() else float32()
