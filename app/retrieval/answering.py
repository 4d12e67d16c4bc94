"""How likely it is that a memory answers the query, where a reader has read both (docs/retrieval.md).

Words and vectors tell how much a memory is about what the query is about; a reader, whether it answers it. The score of
a candidate that was read joins how far behind the best it is and what the reader says.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.query import Finding
from app.retrieval import reranking
from app.retrieval.fusion import Fusion
from app.retrieval.passages import passage
from app.retrieval.pool import Candidate, Pool
from app.retrieval.reranking import Relevance
from app.retrieval.succession import handed_on

MAX_READ = 10
"""Candidates of a recall that may be entries and are read."""
CHANNEL: Final = "reader"
"""What findings call it."""

_PASSAGE = 240
"""Characters that are read of a memory: those around the words of the query."""
_CHARACTERS = 1_400
"""Characters that are read in all, the query with each passage: what takes 20 to 40 ms of a processor."""
_FAR = 2.0
"""Log odds by which what still holds has to be ahead of a newer one, so that this does not take its place."""
_SURE = 1e-6
"""No likelihood counts as nearer to 0 or 1."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A logistic regression of whether a memory answers."""

    relevance: float
    """What the log odds of the relevance count."""
    behind: float
    """What it takes to be behind the best of those that were read, by the scores of the channels."""
    base: float

    def probability(self, relevance: float, behind: float) -> float:
        odds = self.relevance * _logit(relevance) - self.behind * behind + self.base
        return 1 / (1 + math.exp(-odds))


_FIT = _Fit(relevance=0.85, behind=1.35, base=-2.19)
"""What ``python -m training.reader join`` finds on the scenes that are kept aside for thresholds."""


@dataclass(frozen=True, slots=True)
class ToRead:
    """A candidate that is read, and what is read of it."""

    id: str
    text: str


def to_read(fusion: Fusion, *, collapse: bool) -> Sequence[ToRead]:
    """Return what is read: the best candidates that may be entries, each with the best whose place it has taken.

    Who asks where somebody lives is answered by "I live in Rome", and means what took its place. There are fewer of
    them where they and the query are long.
    """
    outdated: dict[str, Candidate] = {}
    for one in fusion.ranked:
        if one.superseded and one.current is not None and not one.expired:
            outdated.setdefault(one.current, one)
    chosen: list[ToRead] = []
    left = _CHARACTERS
    for candidate in reranking.to_rate(fusion.ranked, collapse=collapse, most=MAX_READ):
        both = (candidate, *([outdated[candidate.id]] if candidate.id in outdated else []))
        texts = [passage(one.content, fusion.query.terms, _PASSAGE) for one in both]
        left -= sum(len(text) + len(fusion.query.text) for text in texts)
        if chosen and left < 0:
            break
        chosen += [ToRead(one.id, text) for one, text in zip(both, texts, strict=True)]
    return chosen


def leave_apart(pool: Pool, relevance: Relevance) -> None:
    """Have no candidate take the place of an older one that still holds, if the query asks for that one.

    How likely the newer one answers, and is an update, count together, against how likely the older one answers.
    """
    for one in pool.candidates.values():
        heir = pool.candidates.get(one.current or "")
        if heir is None or one.update is None or one.superseded or heir.keyed:
            continue
        newer = _logit(relevance.get(heir.id, 0.0)) + _logit(one.update)
        if newer < _logit(relevance.get(one.id, 0.0)) - _FAR:
            one.current, one.until, one.update = None, None, None


def scores(fusion: Fusion, relevance: Relevance) -> Relevance:
    """Return the scores of the candidates that were read and may be entries, 0 to 1.

    What takes the place of another scores no less than that.
    """
    best = max((fusion.scores[id_] for id_ in relevance), default=0.0)
    joined = {id_: _FIT.probability(each, best - fusion.scores[id_]) for id_, each in relevance.items()}
    candidates = fusion.pool.candidates
    passed_on = handed_on(fusion.pool, joined, fusion.learned)
    return {id_: score for id_, score in passed_on.items() if not candidates[id_].superseded}


def findings(id_: str, found: Sequence[Finding], relevance: Relevance, scores_: Relevance) -> Sequence[Finding]:
    """Return a candidate's findings, whose shares add up to its score; those ``found`` add up to its likelihood.

    The share of the reader is what it has added to the likelihood, or taken from it.
    """
    if id_ not in scores_:
        return reranking.unrated(id_, found, scores_)
    likelihood = sum(finding.weighted for finding in found)
    return [Finding(CHANNEL, scores_[id_] - likelihood, relevance[id_]), *found]


def _logit(probability: float) -> float:
    sure = min(max(probability, _SURE), 1 - _SURE)
    return math.log(sure / (1 - sure))
