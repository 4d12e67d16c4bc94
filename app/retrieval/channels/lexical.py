"""The lexical channel: memories by the words of the query that they contain, rare words before common ones (BM25).

A word counts once, whether it is in the memory itself or, for less, in a neighbour in the session. How rare a word is
is counted in the scope alone: a name that is in every memory of an agent weighs nothing there, whatever other scopes
contain.
"""

import math
from collections.abc import Mapping

from app.domain.json_types import Json
from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.pool import Pool

SATURATION = 1.2
LENGTH_SHARE = 0.4
"""BM25's k1 and b, for words that are counted once: most memories are a sentence or two (docs/retrieval.md).

The estimate by which ``app/storage/candidates.sql`` chooses what is read uses the same."""

_REACH = 2
"""How many memories away in the session a word of the query still counts."""
_STEP = 0.5
"""What it counts for each step of the way."""


class Lexical(Channel):
    """Scores candidates by the query's words."""

    name = "lexical"
    weight = 0.6
    section = "lexical"
    ranks = True

    def __init__(self, *, context: bool = True) -> None:
        """Count the words of neighbours too, unless ``context`` is false."""
        self._context = context

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the query's terms in the syntax of FTS5."""
        return [term.fts for term in query.terms]

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return scores from 0 to 1. The best one is the square root of ``coverage``.

        So where no memory contains much of the query, words have less to say.
        """
        weights = term_weights(pool, len(query.terms))
        covered = coverages(pool, weights, context=self._context)
        best, whole = max(covered.values(), default=0.0), sum(weights)
        scale = math.sqrt(best * max(best, whole)) or 1.0
        return {id_: value / scale for id_, value in covered.items()}

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002
        """Return the weight of the query's words that each candidate covers."""
        return coverages(pool, term_weights(pool, len(query.terms)), context=self._context)


def coverage(scores: Scores) -> float:
    """Return the largest share of the query's weight that one candidate covers, 0 to 1, from the channel's scores."""
    return max(scores.values(), default=0.0) ** 2


def term_weights(pool: Pool, terms: int) -> list[float]:
    """Return the weight of each term: its inverse document frequency in the scope."""
    memories, found = pool.stats.memories, pool.stats.found
    counts = (min(found.get(str(term), 0), memories) for term in range(terms))
    return [math.log(1 + (memories - count + 0.5) / (count + 0.5)) for count in counts]


def coverages(pool: Pool, weights: list[float], *, context: bool = True) -> dict[str, float]:
    """Return by id how much of the query each candidate covers: at most the sum of the weights."""
    own = _lexical_scores(pool, weights)
    covered: dict[str, float] = {}
    for id_, candidate in pool.candidates.items():
        best = own[id_]
        if context and candidate.session_id is not None:
            best = dict(best)
            for distance, neighbour in pool.neighbours(candidate, _REACH):
                discount = candidate.length_damping * _STEP**distance
                for term, score in own[neighbour.id].items():
                    if score * discount > best.get(term, 0.0):
                        best[term] = score * discount
        covered[id_] = sum(best.values())
    return covered


def _lexical_scores(pool: Pool, weights: list[float]) -> Mapping[str, dict[int, float]]:
    """Return what each term counts in each memory: less the longer the memory is."""
    scores: dict[str, dict[int, float]] = {}
    for id_, candidate in pool.candidates.items():
        if candidate.words:
            length = 1 - LENGTH_SHARE + LENGTH_SHARE * candidate.bytes / pool.stats.mean_bytes
            factor = (1 + SATURATION) / (1 + SATURATION * length)
            scores[id_] = {term: weights[term] * factor for term in candidate.terms}
        else:
            scores[id_] = {}
    return scores
