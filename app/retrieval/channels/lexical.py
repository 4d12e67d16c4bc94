"""The lexical channel: memories by the words of the query they hold, rare words before common ones (BM25).

A word counts once, whether it is in the memory itself or, for less, in one beside it. How rare it is is counted in the
scope alone: a name that is in every memory of an agent weighs nothing there, whatever other scopes hold.
"""

import math
from collections.abc import Mapping, Sequence

from app.retrieval.channels.neighbours import REACH, SHARE, openness
from app.retrieval.pool import Candidate, Pool
from app.storage.candidates import LENGTH_SHARE, SATURATION


def weights(pool: Pool, terms: int) -> list[float]:
    """Return the weight of each term: its inverse document frequency in the scope."""
    return [
        math.log(1 + (pool.memories - count + 0.5) / (count + 0.5))
        for count in (min(pool.found.get(term, 0), pool.memories) for term in range(terms))
    ]


def scores(pool: Pool, weights: list[float], *, context: bool = True) -> dict[str, float]:
    """Return by id how much of the query each candidate covers: at most the sum of the weights."""
    own = _own(pool, weights)
    covered: dict[str, float] = {}
    for id_, candidate in pool.candidates.items():
        best = dict(own[id_])
        if context and candidate.session_id is not None:
            open_ = openness(candidate)
            for distance, near in pool.beside(candidate, REACH):
                discount = open_ * SHARE**distance
                for term, weight in own[near.id].items():
                    if weight * discount > best.get(term, 0.0):
                        best[term] = weight * discount
        covered[id_] = sum(best.values())
    return covered


def best(pool: Pool, weights: list[float], terms: Sequence[int]) -> Candidate | None:
    """Return the candidate that holds most of these terms; None where none holds at least half of their weight."""
    enough = sum(weights[term] for term in terms) / 2
    held = {
        id_: sum(weights[term] for term in terms if term in candidate.words)
        for id_, candidate in pool.candidates.items()
    }
    first = max(held, key=lambda id_: (held[id_], id_), default=None)
    return pool.candidates[first] if first is not None and held[first] >= enough > 0 else None


def _own(pool: Pool, weights: list[float]) -> Mapping[str, Mapping[int, float]]:
    """Return what each term counts in each memory: less the longer the memory is."""
    own: dict[str, Mapping[int, float]] = {}
    for id_, candidate in pool.candidates.items():
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * candidate.bytes / pool.mean_bytes
        factor = (1 + SATURATION) / (1 + SATURATION * length)
        own[id_] = {term: weights[term] * factor for term in candidate.words}
    return own
