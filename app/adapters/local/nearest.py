"""Picks the nearest vectors of those that were compared with a question."""

from dataclasses import dataclass

import numpy as np

from app.adapters.local.scope_vectors import Matrix, Positions
from app.domain.embedding import Vector
from app.domain.query import Filter


@dataclass(frozen=True, slots=True)
class ScopeSearch:
    """A search for the nearest vectors of a scope."""

    vector: Vector
    top_k: int
    where: Filter


def nearest(scores: Matrix, positions: Positions | None, count: int) -> Positions:
    """Return the positions of the ``count`` highest scores, of all or of those at the positions."""
    if positions is None:
        return _highest(scores, count)
    return positions[_highest(scores[positions], count)]


def _highest(scores: Matrix, count: int) -> Positions:
    """Return the positions of the ``count`` highest scores; of equal scores the last, which are the newest.

    The score of a damaged vector may be no number; it is not among them.
    """
    if len(scores) <= count:
        return np.flatnonzero(~np.isnan(scores))
    least = np.partition(scores, -count)[-count]
    above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    return np.concatenate([above, equal[len(above) - count :]])
