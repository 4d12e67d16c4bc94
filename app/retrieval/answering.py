"""How likely it is that a memory answers the query, where a reader has read both (docs/retrieval.md).

Words and vectors tell how much a memory is about what the query is about; a reader, whether it answers it. The score of
a candidate joins its likelihood by the former with what the reader says.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from app.domain.query import Finding
from app.domain.reading import is_readable
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
"""What findings call it."""

_PASSAGE = 240
"""Characters that are read of a memory: those around the words of the query."""
_CHARACTERS = 1_400
"""Characters that are read in all, the query with each passage: what takes 20 to 40 ms of a processor."""
_OF_QUERY = 350
"""Characters of a long query that count for each passage: of a pair no more than the reader's limit is read."""
_FAR = 2.0
"""Log odds by which what still holds has to be ahead of a newer one, so that this does not take its place."""
_SURE = 1e-6
"""No likelihood counts as nearer to 0 or 1."""


def to_read(fusion: Fusion, *, collapse: bool) -> Mapping[str, str]:
    """Return what is read, by ids: of the best that may be entries, and of the best whose place each has taken.

    Who asks where somebody lives is answered by "I live in Rome", and means what took its place. There are fewer of
    them where they and the query are long. What is in a script that no reader knows is not read.
    """
    if not is_readable(fusion.query.text):
        return {}
    outdated = _outdated(fusion.ranked)
    chosen: dict[str, str] = {}
    left, of_query = _CHARACTERS, min(len(fusion.query.text), _OF_QUERY)
    for candidate in reranking.to_rate(fusion.ranked, collapse=collapse, most=MAX_READ):
        both = (candidate, *([outdated[candidate.id]] if candidate.id in outdated else []))
        if not all(is_readable(member.content) for member in both):
            continue
        texts = [passage(member.content, fusion.query.terms, _PASSAGE) for member in both]
        left -= sum(len(text) + of_query for text in texts)
        if chosen and left < 0:
            break
        chosen |= {member.id: text for member, text in zip(both, texts, strict=True)}
    return chosen


def _outdated(ranked: Iterable[Candidate]) -> Mapping[str, Candidate]:
    """Return the best whose place each has taken, by its id."""
    outdated: dict[str, Candidate] = {}
    for candidate in ranked:
        if candidate.superseded and candidate.current is not None and not candidate.expired:
            outdated.setdefault(candidate.current, candidate)
    return outdated


def leave_apart(pool: Pool, relevance: Relevance) -> None:
    """Have no candidate take the place of an older one that still holds, if the query asks for that one.

    How likely the newer one answers, and is an update, count together, against how likely the older one answers. Of an
    older one of several sentences the newer may be an update of one that is not asked for: there only answers count.
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

    They join the likelihood with what the reader says, so that what was read and does not answer comes behind what was
    not read. What takes the place of another scores no less than that.
    """
    likelihoods = fusion.likelihoods
    joined = {
        candidate.id: score(fusion.kinds[candidate.id], likelihoods[candidate.id], relevance.get(candidate.id))
        for candidate in fusion.ranked
    }
    candidates = fusion.pool.candidates
    passed_on = handed_on(fusion.pool, joined, fusion.learned)
    return {id_: value for id_, value in passed_on.items() if not candidates[id_].superseded}


def score(weights: KindWeights, likelihood: float, relevance: float | None) -> float:
    """Return how likely a candidate answers, of which a reader has this ``relevance``; None: it was not read."""
    own = log_odds(likelihood)
    if relevance is None:
        odds = own + weights.unread
    else:
        odds = weights.read.relevance * log_odds(relevance) + weights.read.likelihood * own + weights.read.base
    return 1 / (1 + math.exp(-odds))


def findings(id_: str, shares: Sequence[Finding], relevance: Relevance, scores_: Relevance) -> Sequence[Finding]:
    """Return a candidate's findings, whose shares add up to its score; those of ``shares`` add up to its likelihood.

    The share of the reader is what reading it, or the others, has added to the likelihood, or taken from it.
    """
    if id_ not in scores_:
        return reranking.unrated(shares, scores_)
    likelihood = sum(finding.weighted for finding in shares)
    return [Finding(CHANNEL, scores_[id_] - likelihood, relevance.get(id_)), *shares]


def log_odds(probability: float) -> float:
    """Return the logarithm of the odds, of a probability that is never quite 0 or 1."""
    sure = min(max(probability, _SURE), 1 - _SURE)
    return math.log(sure / (1 - sure))
