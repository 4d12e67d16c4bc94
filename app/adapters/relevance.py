"""The texts that a reranker behind an API is sent, and the relevances that its scores become."""

import math
from collections.abc import Iterable, Sequence

from app.domain.errors import UpstreamRejected
from app.ports.reranker import MAX_CHARACTERS

_ROUNDING = 1e-3
"""How far beyond 0 and 1 a model that computes in 16 bits may put a relevance."""


COUNTED = 0.5
"""The part of the usual time below which a call's time-out does not count, because it tells nothing of the reranker."""


def clip(text: str) -> str:
    """Return the part of a text that is sent. An empty text is sent as a space, because the services refuse it."""
    return text[:MAX_CHARACTERS] or " "


def relevances(scored: Iterable[tuple[object, object]], count: int) -> Sequence[float]:
    """Return the relevances of ``count`` texts in their order, from pairs of a text's index and its score.

    Some models answer logits, which are not bounded. If one score of an answer is not from 0 to 1, all of them are
    logits and go through the logistic function: changing only some would change their order.

    Raises:
        UpstreamRejected: an index is missing, repeated or of no text, or a score is not a number.
    """
    by_index: dict[int, float] = {}
    for index, score in scored:
        if type(index) is not int or not 0 <= index < count or index in by_index:
            raise UpstreamRejected("The reranker rated a text twice, or one that it was not sent.")
        by_index[index] = _number(score)
    if len(by_index) != count:
        raise UpstreamRejected(f"The reranker rated {len(by_index)} of {count} texts.")
    scores = [by_index[index] for index in range(count)]
    if all(-_ROUNDING <= score <= 1 + _ROUNDING for score in scores):
        return [min(max(score, 0.0), 1.0) for score in scores]
    return [_logistic(score) for score in scores]


def _number(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise UpstreamRejected("The reranker answered a relevance that is not a number.")
    return float(score)


def _logistic(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)) in a form that does not overflow."""
    return (1 + math.tanh(logit / 2)) / 2
