"""Reranking: which candidates a model rates, and what its ratings make of order and scores (docs/retrieval.md).

A candidate that was rated has its relevance as its score, and comes before all that were not. What was not rated keeps
its order, and scores no more than the least relevant of those that were.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from app.domain.query import Finding
from app.retrieval import selection
from app.retrieval.pool import Candidate

MAX_RATED = 30
"""Candidates of a recall that are rated."""
CHANNEL = "reranker"
"""What findings call it."""

Relevance = Mapping[str, float]
"""Relevances of the candidates that were rated, 0 to 1, by their ids; empty where none were."""


def to_rate(ranked: Iterable[Candidate], *, collapse: bool) -> Sequence[Candidate]:
    """Return the best candidates that may become entries; ``collapse`` leaves out copies of better ones."""
    may_be_entries = (
        candidate for candidate in ranked if not (candidate.expired or candidate.added or candidate.superseded)
    )
    return list(islice(selection.distinct(may_be_entries) if collapse else may_be_entries, MAX_RATED))


def reordered(ranked: Sequence[Candidate], relevance: Relevance) -> Sequence[Candidate]:
    """Return the candidates that were rated, most relevant first, and behind them the others as they were."""
    if not relevance:
        return ranked
    rated = sorted((one for one in ranked if one.id in relevance), key=lambda one: relevance[one.id], reverse=True)
    return [*rated, *(one for one in ranked if one.id not in relevance)]


def score(id_: str, fused: float, relevance: Relevance) -> float:
    """Return a candidate's score; ``fused`` is what it would be without ratings."""
    return relevance[id_] if id_ in relevance else min([fused, *relevance.values()])


def findings(id_: str, found: Sequence[Finding], relevance: Relevance) -> Sequence[Finding]:
    """Return a candidate's findings, whose shares add up to its score; those ``found`` add up to the fused one.

    The channels chose what was rated, but have no share of its score: the relevance is all of it.
    """
    if id_ in relevance:
        rating = Finding(CHANNEL, relevance[id_], relevance[id_])
        return [rating, *(finding.scaled(0.0) for finding in found)]
    fused = sum(finding.weighted for finding in found)
    own = score(id_, fused, relevance)
    return found if own == fused else [finding.scaled(own / fused) for finding in found]
