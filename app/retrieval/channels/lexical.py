"""The lexical channel: finds memories by the query's words in them, rare words before common ones (BM25).

A word counts once, whether it is in the memory itself or, for less, in a neighbour in the session. A word's rarity is
counted in the scope alone: a name that is in every memory of an agent weighs nothing there, whatever other scopes
contain.
"""

import math
from collections.abc import Mapping, Sequence

from app.domain.json_types import Json
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Candidate, Pool, terms_of
from app.retrieval.query.parsing import ParsedQuery

SATURATION = 1.2
LENGTH_SHARE = 0.1
USUAL_BYTES = 130
"""BM25's k1 and b, for words that are counted once, and the length that counts as usual: most memories are a sentence
or two (docs/retrieval.md). They are the same in each scope, so that a score does not depend on how long other memories
are.

``app/storage/candidates.sql`` chooses the memories that are read by the same formula."""
_MOST, _OF_NO_BYTES = 1 + SATURATION, 1 - LENGTH_SHARE
"""The numerator of BM25's factor, and the part of a length that is the same for each memory."""

_REACH = 2
"""How many memories away in the session a word of the query still counts."""
_NEXT, _STEP = 0.65, 0.5
"""The share that a word counts in the next memory, and the factor for each further step."""

_FEW = 200
"""Memories that a smaller scope counts as having: a word that is rare among three memories need not be rare."""
_RARE = 1 / 80
"""A word in this share of the memories is rare; a word in fewer memories weighs no more."""
_RAREST = math.log(1 + 1 / _RARE)
_LONG_QUERIES = 0.75
"""The exponent of a query's weight in the divisor: with 1 a score is the share that is covered, with 0 the sum."""
_OF_ONE_WORD = 0.25
"""The factor of the score of a memory without a session that covers next to nothing of the query; it rises to 1 for a
memory that covers everything. A note that has one word of a question is seldom about the rest of the question."""
_RISE = 1 - _OF_ONE_WORD


class Lexical(Channel):
    """Scores candidates by the query's words."""

    name = "lexical"
    section = "lexical"
    ranks = True

    def __init__(self, *, context: bool = True) -> None:
        """Have the channel count the words of neighbours too, unless ``context`` is false."""
        self._context = context

    def candidates(self, query: ParsedQuery) -> Json:
        """Return the query's terms in the syntax of FTS5."""
        return [term.fts for term in query.terms]

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return how much of the query each candidate covers: 1 for all of a query of one rare word."""
        weights = term_weights(pool, len(query.terms))
        divisor = scale(sum(weights))
        notes = _Notes(query.parts or [range(len(weights))], weights)
        turns = coverages(pool, weights, context=self._context) if pool.sessions else {}
        return {
            id_: turns[id_] / divisor if candidate.session_id is not None else notes.score(candidate)
            for id_, candidate in pool.candidates.items()
        }

    def measure(self, pool: Pool, query: ParsedQuery, scores: Scores) -> Scores:  # noqa: ARG002
        """Return the share of the query's weight that each candidate covers: about 1 for all of it."""
        weights = term_weights(pool, len(query.terms))
        whole = sum(weights) or 1.0
        return {id_: value / whole for id_, value in coverages(pool, weights, context=self._context).items()}


def scale(whole: float) -> float:
    """Return the divisor of covered weights for a query of the weight ``whole``."""
    return whole**_LONG_QUERIES * _RAREST ** (1 - _LONG_QUERIES) or 1.0


def term_weights(pool: Pool, terms: int) -> list[float]:
    """Return the weight of each term: how rare it is in the scope."""
    memories, found = max(pool.stats.memories, _FEW), pool.stats.found
    counts = (max(found.get(str(term), 0) + 0.5, _RARE * memories) for term in range(terms))
    return [math.log(1 + memories / count) for count in counts]


def coverages(pool: Pool, weights: list[float], *, context: bool = True) -> dict[str, float]:
    """Return by id how much of the query's weight each candidate covers; a short candidate may exceed the whole weight.

    ``weights`` are the weights of the first terms, by their number; other terms count nothing.
    """
    own = _lexical_scores(pool, weights)
    covered: dict[str, float] = {}
    for id_, candidate in pool.candidates.items():
        best = own[id_]
        if context and candidate.session_id is not None:
            best = dict(best)
            next_to_it = candidate.length_damping * _NEXT
            for distance, neighbour in pool.neighbours(candidate, _REACH):
                if neighbour.words:
                    discount = next_to_it * _STEP ** (distance - 1)
                    for term, score in own[neighbour.id].items():
                        if score * discount > best.get(term, 0.0):
                            best[term] = score * discount
        covered[id_] = sum(best.values()) if best else 0.0
    return covered


class _Notes:
    """Scores memories without a session, each by the part of the query that it covers best."""

    def __init__(self, parts: Sequence[Sequence[int]], weights: Sequence[float]) -> None:
        """Take the numbers of the terms of each part, and the weight of each term."""
        wholes = [sum(weights[term] for term in part) for part in parts]
        self._parts = [
            ([weight if term in part else 0.0 for term, weight in enumerate(weights)], whole, scale(whole))
            for part, whole in zip(parts, wholes, strict=True)
        ]
        """Of each part the weights of the query's terms that are in it, the weight of the whole, and its divisor."""
        self._own = (1 << len(weights)) - 1
        self._held: dict[int, Sequence[tuple[float, float, float]]] = {}
        """By the bits of a memory's terms, for each part with some: the weight shared, the weight, the divisor."""

    def score(self, candidate: Candidate) -> float:
        """Return a memory's score for the part that it covers best; covering little scores less than in proportion."""
        held = self._held.get(candidate.words)  # many memories have the same words of the query
        if held is None:
            self._held[candidate.words] = held = self._weigh(candidate.words & self._own)
        if not held:
            return 0.0
        factor, best = _length_factor(candidate.bytes), 0.0
        for weight, whole, divisor in held:
            covered = factor * weight
            told = _OF_ONE_WORD + _RISE * min(covered / whole, 1.0)
            best = max(best, told * covered / divisor)
        return best

    def _weigh(self, words: int) -> Sequence[tuple[float, float, float]]:
        terms = terms_of(words)
        shared = [(sum(map(weights.__getitem__, terms)), whole, divisor) for weights, whole, divisor in self._parts]
        return [row for row in shared if row[0]]


def _length_factor(size: int) -> float:
    """Return what the words of a memory of so many bytes count: less the longer it is."""
    return _MOST / (1 + SATURATION * (_OF_NO_BYTES + LENGTH_SHARE * size / USUAL_BYTES))


def _lexical_scores(pool: Pool, weights: list[float]) -> Mapping[str, dict[int, float]]:
    """Return the score of each term in each memory: it is less the longer the memory is."""
    scores: dict[str, dict[int, float]] = {}
    weighed: dict[int, list[tuple[int, float]]] = {0: []}
    for id_, candidate in pool.candidates.items():
        if candidate.words not in weighed:  # many memories have the same words of the query
            weighed[candidate.words] = [(term, weights[term]) for term in candidate.terms if term < len(weights)]
        factor = _length_factor(candidate.bytes)
        scores[id_] = {term: weight * factor for term, weight in weighed[candidate.words]}
    return scores
