"""How well one ranking answers one question."""

from collections.abc import Collection, Sequence
from math import log2

from app.interfaces.cli.evaluation.intervals import RESAMPLES, Estimate, estimates, resampled

__all__ = [
    "METRICS",
    "RESAMPLES",
    "TOP_K",
    "Estimate",
    "estimates",
    "hit",
    "ndcg",
    "recall",
    "reciprocal_rank",
    "resampled",
    "scores",
]
TOP_K = 20
METRICS = ("recall@5", "recall@10", "recall@20", "mrr", "ndcg@10", "hit@1", "hit@5", "hit@10")
_RECALLS, _HITS, _NDCG = (5, 10, 20), (1, 5, 10), 10


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
