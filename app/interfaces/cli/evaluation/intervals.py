"""How certain the mean of many figures is that were made of conversations and questions about them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
_LOW, _HIGH = 2.5, 97.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


def resampled(
    conversations: Sequence[str], datasets: Sequence[str] = (), *, resamples: int, seed: int = 0
) -> NDArray[np.float64]:
    """Return how often each question is drawn in each resample, one row a resample.

    Of each data set as many conversations are drawn as it has, with replacement, and of each as many of its questions
    as it has, with replacement. Of a data set with one conversation only the questions are drawn. Without data sets
    all is one.
    """
    random = np.random.default_rng(seed)
    names, sets = np.asarray(conversations), np.asarray(datasets or [""] * len(conversations))
    drawn = np.zeros((resamples, len(names)))
    for dataset in np.unique(sets):
        places = np.flatnonzero(sets == dataset)
        drawn[:, places] = _of_one_set(names[places], resamples, random)
    return drawn


def _of_one_set(conversations: NDArray[np.str_], resamples: int, random: np.random.Generator) -> NDArray[np.float64]:
    names, of = np.unique(conversations, return_inverse=True)
    times = random.multinomial(len(names), np.full(len(names), 1 / len(names)), size=resamples)
    drawn = np.zeros((resamples, len(of)))
    for number in range(len(names)):
        places = np.flatnonzero(of == number)
        share = np.full(len(places), 1 / len(places))
        drawn[:, places] = random.multinomial(times[:, number] * len(places), share)
    return drawn


def estimates(values: NDArray[np.float64], drawn: NDArray[np.float64]) -> list[Estimate]:
    """Return the mean of each column with its interval; one row of values a question."""
    means = drawn @ values / drawn.sum(axis=1, keepdims=True)
    low, high = np.percentile(means, (_LOW, _HIGH), axis=0)
    columns = zip(values.mean(axis=0), low, high, strict=True)
    return [Estimate(float(mean), float(least), float(most)) for mean, least, most in columns]
