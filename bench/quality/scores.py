"""How well one ranking answers one question, and how certain the mean of many such figures is."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

TOP_K = 20
METRICS = ("recall@5", "recall@10", "recall@20", "mrr", "ndcg@10", "hit@1", "hit@5", "hit@10")
RESAMPLES = 2000
_RECALLS, _HITS, _NDCG = (5, 10, 20), (1, 5, 10), 10
_LOW, _HIGH = 2.5, 97.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


def recall(gold: Collection[str], found: Sequence[str], k: int) -> float:
    """Return the share of the evidence among the first k, 0 to 1; there must be evidence."""
    return len(set(found[:k]) & set(gold)) / len(gold)


def hit(gold: Collection[str], found: Sequence[str], k: int) -> float:
    """Return 1 where any evidence is among the first k, else 0."""
    return float(any(turn in gold for turn in found[:k]))


def reciprocal_rank(gold: Collection[str], found: Sequence[str]) -> float:
    """Return 1 / the place of the first evidence, 0 where none was found."""
    return next((1 / place for place, turn in enumerate(found, 1) if turn in gold), 0.0)


def ndcg(gold: Collection[str], found: Sequence[str], k: int) -> float:
    """Return the discounted gain of the first k as a share of the best there could be, 0 to 1."""
    gain = sum(1 / log2(place + 1) for place, turn in enumerate(found[:k], 1) if turn in gold)
    return gain / sum(1 / log2(place + 1) for place in range(1, min(len(gold), k) + 1))


def scores(gold: Collection[str], found: Sequence[str]) -> tuple[float, ...]:
    """Return every figure of ``METRICS`` for one question; what was found is at most ``TOP_K`` turns, each once."""
    return (
        *(recall(gold, found, k) for k in _RECALLS),
        reciprocal_rank(gold, found),
        ndcg(gold, found, _NDCG),
        *(hit(gold, found, k) for k in _HITS),
    )


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
