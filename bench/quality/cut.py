"""What a ``min_score`` keeps and drops: whether scores can be cut at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.quality.abstention import auc
from bench.quality.asking import Asked

CUT = 0.5
"""The ``min_score`` that docs/retrieval.md names."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """How the questions of one kind came off that nothing answers."""

    questions: int
    dropped: float
    """The share of them for which no entry reaches the cut."""
    median: float
    """The median of their best scores; 0 for an answer without entries."""
    auc: float | None
    """How likely a question with an answer has a higher best score than one of these; None without any."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of the answers to some questions at ``CUT``."""

    right: int
    """Pairs of a question and a memory that answers it."""
    right_kept: float | None
    """The share of them whose score reaches the cut; None without any."""
    unanswered: dict[str, Unanswered]
    """The questions that nothing answers, by category; ``foreign``: those of other conversations."""


def kept(asked: Sequence[Asked]) -> Kept:
    """Count what reaches the cut; the answers must tell the score of each entry."""
    reached = [_reaches(one, turn) for one in asked if one.answerable for turn in one.question.gold]
    answered = np.asarray([_best(one) for one in asked if one.answerable])
    best: dict[str, list[float]] = {}
    for one in asked:
        if not one.answerable:
            best.setdefault("foreign" if one.foreign else one.question.category, []).append(_best(one))
    return Kept(
        right=len(reached),
        right_kept=sum(reached) / len(reached) if reached else None,
        unanswered={name: _unanswered(np.asarray(scores), answered) for name, scores in sorted(best.items())},
    )


def _unanswered(best: NDArray[np.float64], answered: NDArray[np.float64]) -> Unanswered:
    return Unanswered(len(best), float((best < CUT).mean()), float(np.median(best)), auc(answered, best))


def _best(asked: Asked) -> float:
    return max(asked.answer.scores, default=0.0)


def _reaches(asked: Asked, turn: str) -> bool:
    found = zip(asked.answer.turn_ids, asked.answer.scores, strict=True)
    return any(id_ == turn and score >= CUT for id_, score in found)
