"""The Beta posterior of a rate: its mean, its quantiles and its density, and draws from several of them.

Every function takes ``alpha >= 1`` and ``beta >= 1``, for which the density is bounded.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

INTERVAL = (0.025, 0.975)
"""The quantiles between which 95 % of a posterior lies."""

_POINTS = 1_001
_DEVIATIONS = 12.0
"""Standard deviations that the grid reaches on both sides of the mean: less than 1e-5 of any posterior lies beyond."""


def mean(alpha: float, beta: float) -> float:
    """Return the posterior's mean."""
    return alpha / (alpha + beta)


def interval(alpha: float, beta: float) -> tuple[float, float]:
    """Return the bounds between which the rate lies with a probability of 95 %, exact to 1e-3."""
    low, high = quantiles(alpha, beta, INTERVAL)
    return float(low), float(high)


def quantiles(alpha: float, beta: float, probabilities: Sequence[float]) -> Values:
    """Return the quantiles of these probabilities, exact to 1e-3 and to a hundredth of the standard deviation.

    The density is added up over a grid around the mean, since numpy has no inverse of the incomplete beta function.
    """
    edges = _around_mean(alpha, beta, _POINTS)
    # The density is taken in the middle of each cell: at 0 and at 1 it may fall to 0 at once.
    cells = density(alpha, beta, (edges[1:] + edges[:-1]) / 2)
    below = np.concatenate([[0.0], np.cumsum(cells)])
    return np.asarray(np.interp(np.asarray(probabilities) * below[-1], below, edges), dtype=np.float64)


def curve(alpha: float, beta: float, points: int) -> tuple[Values, Values]:
    """Return rates within six standard deviations of the mean, as a picture shows them, and the density at each."""
    rates = _around_mean(alpha, beta, points, _DEVIATIONS / 2)
    return rates, density(alpha, beta, rates)


def density(alpha: float, beta: float, rates: Values) -> Values:
    """Return the density at each of these rates, scaled so that the highest of these values is 1."""
    with np.errstate(divide="ignore"):
        logs = _power(alpha - 1, np.log(rates)) + _power(beta - 1, np.log1p(-rates))
    highest: float = np.max(logs)
    return np.asarray(np.exp(logs - highest), dtype=np.float64)


def draw(posteriors: Sequence[tuple[float, float]], seed: int | None) -> list[float]:
    """Draw a rate of each posterior ``(alpha, beta)``, in their order; a ``seed`` of None takes fresh entropy."""
    generator = np.random.default_rng(seed)
    return [float(generator.beta(alpha, beta)) for alpha, beta in posteriors]


def _around_mean(alpha: float, beta: float, points: int, deviations: float = _DEVIATIONS) -> Values:
    centre, total = mean(alpha, beta), alpha + beta
    reach = deviations * np.sqrt(centre * (1 - centre) / (total + 1))
    return np.linspace(max(0.0, centre - reach), min(1.0, centre + reach), points)


def _power(exponent: float, logarithms: Values) -> Values:
    """Multiply; an exponent of 0 gives 0 even for the logarithm of 0."""
    return exponent * logarithms if exponent else np.zeros_like(logarithms)
