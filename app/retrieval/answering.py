"""Scores candidates by how likely they answer the query, where a reader has read both (docs/retrieval.md).

Words and vectors tell how much a memory and the query are about the same thing; a reader tells whether the memory
answers the query. The score of a candidate joins its likelihood by words and vectors with the reader's relevance.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from app.domain.query import Finding
from app.domain.reading import is_readable
from app.language.telling import are_apart, language_of, seems_apart
from app.retrieval import reranking
from app.retrieval.fusion import Fusion
from app.retrieval.passages import passage
from app.retrieval.pool import Candidate, Pool
from app.retrieval.reranking import Relevance
from app.retrieval.succession import handed_on
from app.retrieval.weights import KindWeights

MAX_READ = 10
"""Candidates of a recall that may be entries and are read."""
CHANNEL: Final = "reader"
"""The reader's name in findings."""

_PASSAGE = 240
"""Characters that are read of a memory: those around the words of the query."""
_CHARACTERS = 1_400
"""Characters that are read in all, the query with each passage: reading them takes 20 to 40 ms of a processor."""
_OF_QUERY = 350
"""Characters of a long query that count for each passage: a reader reads no more of a pair than its limit."""
_FAR = 2.0
"""Log odds by which an older candidate that still holds has to be ahead of its successor to keep its place."""
_SURE = 1e-6
"""No likelihood counts as nearer to 0 or 1 than this."""


def to_read(fusion: Fusion, *, collapse: bool, across: bool = False) -> Mapping[str, str]:
    """Return the passages that are read, by their candidates' ids.

    The best candidates that may be entries are read, each with the best candidate whose place it has taken: "I live in
    Rome" answers "Where do I live?", which means the memory that took its place. Fewer candidates are read where they
    and the query are long. A text in a script that no reader knows is not read, nor one in another language than the
    query: readers have learned what answers what within a language. Nor is one that only asks, which is like the query.
    Where memories are found ``across`` languages, a short question seems to be in another one by little.
    """
    if not is_readable(fusion.query.text):
        return {}
    outdated = _outdated(fusion.ranked)
    is_apart = _apart_from(fusion.query.text, across=across)
    chosen: dict[str, str] = {}
    left, of_query = _CHARACTERS, min(len(fusion.query.text), _OF_QUERY)
    for candidate in reranking.to_rate(fusion.ranked, collapse=collapse, most=MAX_READ):
        both = (candidate, *([outdated[candidate.id]] if candidate.id in outdated else []))
        if candidate.asks or not all(_may_be_read(member.content, is_apart) for member in both):
            continue
        texts = [passage(member.content, fusion.query.terms, _PASSAGE) for member in both]
        left -= sum(len(text) + of_query for text in texts)
        if chosen and left < 0:
            break
        chosen |= {member.id: text for member, text in zip(both, texts, strict=True)}
    return chosen


def _apart_from(query: str, *, across: bool) -> Callable[[str | None], bool]:
    """Return what tells whether a language is another one than the query's."""
    asked_in = language_of(query)
    return partial(seems_apart, query) if across and asked_in is None else partial(are_apart, asked_in)


def _may_be_read(content: str, is_apart: Callable[[str | None], bool]) -> bool:
    return is_readable(content) and not is_apart(language_of(content))


def _outdated(ranked: Iterable[Candidate]) -> Mapping[str, Candidate]:
    """Return by a successor's id the best candidate whose place it has taken."""
    outdated: dict[str, Candidate] = {}
    for candidate in ranked:
        if candidate.superseded and candidate.current is not None and not candidate.expired:
            outdated.setdefault(candidate.current, candidate)
    return outdated


def leave_apart(pool: Pool, relevance: Relevance) -> None:
    """Keep a successor from taking the place of an older candidate that still holds, if the query asks for the latter.

    The likelihoods that the successor answers, and that it is an update, count together against the likelihood that the
    older candidate answers. Where the older one has several sentences, the successor may update a sentence that the
    query does not ask for: there only the likelihoods of answering count.
    """
    for candidate in pool.candidates.values():
        heir = pool.candidates.get(candidate.current or "")
        if heir is None or candidate.update is None or candidate.superseded or heir.keyed:
            continue
        update = log_odds(candidate.update) if candidate.statement.is_one else 0.0
        newer = log_odds(relevance.get(heir.id, 0.0)) + update
        if newer < log_odds(relevance.get(candidate.id, 0.0)) - _FAR:
            candidate.current, candidate.until, candidate.update = None, None, None


def scores(fusion: Fusion, relevance: Relevance) -> Relevance:
    """Return the scores of the candidates that may be entries, 0 to 1.

    A score joins the likelihood with the reader's relevance, so that a candidate that was read and does not answer
    comes behind candidates that were not read. A successor scores no less than the candidate whose place it takes.
    """
    likelihoods = fusion.likelihoods
    joined = {
        candidate.id: score(fusion.kind(candidate), likelihoods[candidate.id], relevance.get(candidate.id))
        for candidate in fusion.ranked
    }
    candidates = fusion.pool.candidates
    passed_on = handed_on(fusion.pool, joined, fusion.learned)
    return {id_: value for id_, value in passed_on.items() if not candidates[id_].superseded}


def score(weights: KindWeights, likelihood: float, relevance: float | None) -> float:
    """Return how likely a candidate answers; ``relevance`` is the reader's, or None where no reader has read it."""
    own = log_odds(likelihood)
    if relevance is None:
        odds = own + weights.unread
    else:
        odds = weights.read.relevance * log_odds(relevance) + weights.read.likelihood * own + weights.read.base
    return 1 / (1 + math.exp(-odds))


def findings(id_: str, shares: Sequence[Finding], relevance: Relevance, scores_: Relevance) -> Sequence[Finding]:
    """Return a candidate's findings, whose shares add up to its score; those of ``shares`` add up to its likelihood.

    The reader's share is the amount by which reading this candidate, or the others, has raised or lowered the score.
    """
    if id_ not in scores_:
        return reranking.unrated(shares, scores_)
    likelihood = sum(finding.weighted for finding in shares)
    return [Finding(CHANNEL, scores_[id_] - likelihood, relevance.get(id_)), *shares]


def log_odds(probability: float) -> float:
    """Return the logarithm of a probability's odds; the probability counts as at least ``_SURE`` away from 0 and 1."""
    sure = min(max(probability, _SURE), 1 - _SURE)
    return math.log(sure / (1 - sure))
