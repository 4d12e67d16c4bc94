"""Rating: which candidates a model rates, and how its ratings change order and scores (docs/retrieval.md).

A candidate that a reranker has rated has the relevance as its score. A candidate that a reader has rated has a score in
which its likelihood has a part too (``app/retrieval/answering.py``). Rated candidates come before all others, which
keep their order and score no more than the least of the rated ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from app.domain.query import Finding
from app.retrieval import selection
from app.retrieval.pool import Candidate

MAX_RATED = 30
"""Candidates of a recall that a reranker rates."""
CHANNEL: Final = "reranker"
"""The reranker's name in findings."""

Relevance = Mapping[str, float]
"""Relevances of the candidates that were rated, 0 to 1, by their ids; empty where no candidate was rated."""


def to_rate(ranked: Iterable[Candidate], *, collapse: bool, most: int = MAX_RATED) -> Sequence[Candidate]:
    """Return the best candidates that may become entries; ``collapse`` leaves out copies of better ones."""
    may_be_entries = (
        candidate for candidate in ranked if not (candidate.expired or candidate.added or candidate.superseded)
    )
    return list(islice(selection.distinct(may_be_entries) if collapse else may_be_entries, most))


def findings(id_: str, shares: Sequence[Finding], relevance: Relevance) -> Sequence[Finding]:
    """Return a candidate's findings, whose shares add up to its score; those of ``shares`` add up to the fused one.

    The channels chose the candidates that were rated, but have no share of a rated one's score: it is the relevance.
    """
    if id_ in relevance:
        rating = Finding(CHANNEL, relevance[id_], relevance[id_])
        return [rating, *(finding.scaled(0.0) for finding in shares)]
    return unrated(shares, relevance)


def unrated(shares: Sequence[Finding], scores: Relevance) -> Sequence[Finding]:
    """Return the findings of a candidate that was not rated: it scores no more than the rated ones with ``scores``."""
    fused = sum(finding.weighted for finding in shares)
    own = min([fused, *scores.values()])
    return shares if own == fused else [finding.scaled(own / fused) for finding in shares]
