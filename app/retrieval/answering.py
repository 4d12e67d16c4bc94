"""How likely it is that a memory answers the query, where a reader has read both (docs/retrieval.md).

Words and vectors tell how much a memory is about what the query is about; a reader, whether it answers it. The score of
a candidate that was read joins both.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from app.domain.comparing import MACHINES
from app.domain.query import Finding
from app.retrieval import reranking
from app.retrieval.fusion import Fusion
from app.retrieval.passages import passage
from app.retrieval.pool import Candidate
from app.retrieval.reranking import Relevance
from app.retrieval.succession import handed_on

MAX_READ = 10
"""Candidates of a recall that may be entries and are read."""
CHANNEL: Final = "reader"
"""What findings call it."""

_PASSAGE = 240
"""Characters that are read of a memory: those around the words of the query."""
_CHARACTERS = 1_400
"""Characters that are read in all, the query with each passage: what takes some 20 ms of a processor."""
_SURE = 1e-6
"""No likelihood counts as nearer to 0 or 1."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A logistic regression of whether a memory answers."""

    likelihood: float
    """What the log odds of the likelihood count."""
    relevance: float
    """What those of the relevance count."""
    base: float

    def probability(self, likelihood: float, relevance: float) -> float:
        odds = self.likelihood * _logit(likelihood) + self.relevance * _logit(relevance) + self.base
        return 1 / (1 + math.exp(-odds))


_FIT = _Fit(likelihood=0.088, relevance=0.963, base=-1.425)
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


def scores(fusion: Fusion, likelihoods: Mapping[str, float], relevance: Relevance, tells: float) -> Relevance:
    """Return the scores of the candidates that were read and may be entries, 0 to 1.

    What takes the place of another scores no less than that. Those whose relevance is at
    least ``tells`` answer the query, and come before the others: the newest scores no less than any of them, because it
    tells what holds now, but what a machine says no more than what people say; where the query names a time, the order
    of the ranking takes the place of theirs.
    """
    joined = {id_: _FIT.probability(likelihoods[id_], each) for id_, each in relevance.items()}
    candidates = fusion.pool.candidates
    passed_on = handed_on(fusion.pool, joined, fusion.learned)
    found = {id_: score for id_, score in passed_on.items() if not candidates[id_].superseded}
    return {**found, **_answering(fusion, found, [id_ for id_ in found if relevance[id_] >= tells])}


def _answering(fusion: Fusion, found: Relevance, answering: Sequence[str]) -> Relevance:
    """Return the scores of those that answer, and of what scored more than they and does not."""
    candidates = fusion.pool.candidates
    places = {one.id: -place for place, one in enumerate(fusion.ranked)}
    if fusion.query.periods:
        worst_first = sorted(answering, key=places.__getitem__)
    else:
        worst_first = sorted(
            answering,
            key=lambda id_: (not _is_of_a_machine(candidates[id_]), candidates[id_].happened_at, places[id_]),
        )
    raised = dict(zip(worst_first, accumulate((found[id_] for id_ in worst_first), max), strict=True))
    least = min(raised.values(), default=1.0)
    return {**raised, **{id_: least for id_, score in found.items() if id_ not in raised and score > least}}


def _is_of_a_machine(candidate: Candidate) -> bool:
    return " ".join(candidate.speaker) in MACHINES


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
