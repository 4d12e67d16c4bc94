"""The Gaussian error linear unit of numpy arrays."""

import numpy as np

from app.adapters.local.linear import Matrix

# Minimax fit of atanh(erf(x / sqrt 2)) / x in powers of x squared, highest first: erf to 1.3e-7 in float32.
_ERF = tuple(
    np.float32(coefficient)
    for coefficient in (
        1.7562773270018075e-09,
        -1.3226627580376883e-07,
        3.964773125671375e-06,
        -5.530631668598673e-05,
        -3.2594744620339644e-05,
        0.03633308440866856,
        0.7978849414899036,
    )
)
# The same fit with two powers: the unit to 3e-4.
_CUBIC, _LINEAR = np.float32(0.0347009), np.float32(0.80015704)


def gelu(inputs: Matrix) -> None:
    """Apply the unit in place, with erf to 1.3e-7."""
    squares = inputs * inputs
    erf = squares * _ERF[0]
    for coefficient in _ERF[1:-1]:
        erf += coefficient
        erf *= squares
    erf += _ERF[-1]
    erf *= inputs
    _multiply(inputs, erf)


def rounded_gelu(inputs: Matrix) -> None:
    """Apply the unit in place, to 3e-4, in half of the time: for values that are rounded to bfloat16 afterwards."""
    erf = inputs * inputs
    erf *= _CUBIC
    erf += _LINEAR
    erf *= inputs
    _multiply(inputs, erf)


def _multiply(inputs: Matrix, erf: Matrix) -> None:
    """Multiply the inputs by ``(1 + tanh(erf)) / 2``."""
    np.tanh(erf, out=erf)
    erf += np.float32(1)
    inputs *= erf
    inputs *= np.float32(0.5)
