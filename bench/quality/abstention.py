"""What a confidence is worth: the risk of answering against how much is answered."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_POINTS = 101
_BINS = 10


@dataclass(frozen=True, slots=True)
class Abstention:
    """What answering only above a confidence would bring."""

    answerable: int
    unanswerable: int
    told: bool
    """Whether every confidence is the service's own, and not the score of the first entry."""
    curve: tuple[tuple[float, float], ...]
    """Coverage and risk, from the most confident on, at no more points than a drawing shows."""
    aurc: float
    """Mean risk over all coverages; lower is better."""
    best: float
    """The mean risk where every question answered wrongly comes last."""
    risk: float
    """The risk where everything is answered; also the mean risk of a confidence that says nothing."""
    ece: float
    """Expected calibration error: how far the confidence is from the share of right answers, over ten equal bins."""
    unanswerable_median: float | None
    """The median confidence of the unanswerable; None without any."""
    auc: float | None
    """How likely an answerable question is given more confidence than an unanswerable one; 0.5 says nothing."""


def abstention(
    confidence: Sequence[float], wrong: Sequence[bool], answerable: Sequence[bool], *, told: bool
) -> Abstention:
    """Judge the confidence of some questions, at least one, by which were answered wrongly and which could be."""
    sure, bad, could = np.asarray(confidence, float), np.asarray(wrong, float), np.asarray(answerable, bool)
    return Abstention(
        answerable=int(could.sum()),
        unanswerable=int((~could).sum()),
        told=told,
        curve=_thinned(curve(sure, bad)),
        aurc=aurc(sure, bad),
        best=aurc(-bad, bad),
        risk=float(bad.mean()),
        ece=ece(sure, bad),
        unanswerable_median=float(np.median(sure[~could])) if (~could).any() else None,
        auc=auc(sure[could], sure[~could]),
    )


def curve(confidence: NDArray[np.float64], wrong: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return coverage and risk, one point for each distinct confidence: equal ones are answered together."""
    expected, ends = _most_confident_first(confidence, wrong)
    answered = np.arange(1, len(expected) + 1)
    risk = np.cumsum(expected) / answered
    return [(float(answered[end] / len(expected)), float(risk[end])) for end in ends]


def aurc(confidence: NDArray[np.float64], wrong: NDArray[np.float64]) -> float:
    """Return the mean risk over coverages 1/n to 1, equal confidences in the mean of all their orders."""
    expected, _ = _most_confident_first(confidence, wrong)
    return float(np.mean(np.cumsum(expected) / np.arange(1, len(expected) + 1)))


def ece(confidence: NDArray[np.float64], wrong: NDArray[np.float64]) -> float:
    """Return the mean distance of confidence and accuracy in bins of a tenth, weighted by the answers in them."""
    bins = np.clip((confidence * _BINS).astype(int), 0, _BINS - 1)
    off = confidence - (1 - wrong)
    sums = np.bincount(bins, weights=off, minlength=_BINS)
    return float(np.abs(sums).sum() / len(confidence))


def auc(above: NDArray[np.float64], below: NDArray[np.float64]) -> float | None:
    """Return the share of pairs in which the first is higher, equal ones as half; None without any pair."""
    if not len(above) or not len(below):
        return None
    difference = above[:, None] - below[None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def _thinned(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    kept = np.unique(np.linspace(0, len(points) - 1, _POINTS).round().astype(int))
    return tuple((round(points[place][0], 4), round(points[place][1], 4)) for place in kept)


def _most_confident_first(
    confidence: NDArray[np.float64], wrong: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the errors to expect one after another, each the mean of its equals, and where equals end."""
    _, of, sizes = np.unique(-confidence, return_inverse=True, return_counts=True)
    means = np.bincount(of, weights=wrong) / sizes
    return np.repeat(means, sizes), np.cumsum(sizes) - 1
