"""Fusion: adds what each channel gives a candidate to the evidence that it answers, and makes a likelihood of it.

The likelihood is what entries tell as their score (docs/retrieval.md). It is made of the memory's own evidence, of that
of all other candidates, and of how many memories the scope has: of a hundred that have about the same evidence each is
likely to be one of the ninety-nine that do not answer. It rises with the evidence, so that scores come in the order of
entries. ``app/retrieval/weights.toml`` has the numbers, which were fitted to labelled questions.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from heapq import nlargest

import numpy as np

from app.domain.query import Finding
from app.retrieval.channels import CHANNELS
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Candidate, Pool, newness
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.succession import handed_on
from app.retrieval.weights import WEIGHTS, KindWeights, Weights

_LEAST = 1e-6
"""What a channel gives has to be more: decades away from a time that is asked for, it gives next to nothing."""
_BEST = 50
"""So many are summed up, so that it does not matter how many were gathered."""
FEW = 10
"""A smaller scope counts as one of so many memories."""


class Fusion:
    """One recall's candidates with their evidence, by channel and in all, so that any score can be explained."""

    def __init__(
        self,
        query: ParsedQuery,
        pool: Pool,
        channels: Sequence[Channel] = CHANNELS,
        weights: Weights = WEIGHTS,
    ) -> None:
        """Weigh the pool by each of the channels that has something to work with, in their order."""
        self.pool = pool
        self.query = query
        self.weights = weights
        self._channels = channels
        self.kinds: Mapping[str, KindWeights] = {
            id_: weights.note if candidate.session_id is None else weights.turn
            for id_, candidate in pool.candidates.items()
        }
        """What counts for each candidate."""
        self.by_channel: dict[str, Scores] = {}
        """The scores of each channel by its name, before they are weighted."""
        fused = dict.fromkeys(pool.candidates, 0.0)
        cues = query.cues | pool.cues
        for channel in channels:
            scores = channel.score(pool, query, fused) if channel.cue in cues else {}
            self.by_channel[channel.name] = counted = {id_: score for id_, score in scores.items() if score > _LEAST}
            for id_, score in counted.items():
                fused[id_] += self.kinds[id_].channels[channel.name] * score
        self.found: Mapping[str, float] = fused
        """What the channels have found of each candidate."""
        # The base of a kind stands against what meaning gives it: it is left out where nothing was compared by meaning.
        self.scores: Mapping[str, float] = {
            id_: found + (self.kinds[id_].base if pool.cosines else 0.0) if found else -math.inf
            for id_, found in fused.items()
        }
        """The evidence, by which they are ordered; of what nothing was found there is none."""
        self._measures: dict[str, Scores] = {}
        """Of the channels that were asked for theirs: most recalls need those of few."""

    def first(self, count: int) -> list[Candidate]:
        """Return the best of the candidates that may be entries and hold, best first, before any two are compared."""
        holding = (candidate for candidate in self.pool.candidates.values() if candidate.holds)
        return nlargest(count, holding, key=lambda candidate: (self.scores[candidate.id], newness(candidate)))

    @cached_property
    def handed_on(self) -> Mapping[str, float]:
        """The evidence, handed on by what is outdated and by messages of which something was learned."""
        return handed_on(self.pool, self.scores, self.learned)

    @cached_property
    def ranked(self) -> list[Candidate]:
        """The candidates that may be entries, best first; ties go to what holds, to what was learned, to the newer."""
        scores = self.handed_on
        return sorted(
            (candidate for candidate in self.pool.candidates.values() if candidate.whole),
            key=lambda candidate: (
                scores[candidate.id],
                candidate.current is None,
                bool(candidate.sources),
                newness(candidate),
            ),
            reverse=True,
        )

    @cached_property
    def learned(self) -> Mapping[str, str]:
        """By the id of a message's candidate, the best of those that were learned of it, which takes its place."""
        best: dict[str, str] = {}
        for candidate in self.pool.learned:
            for message_id in (candidate.sources or ()) if candidate.holds else ():
                best_id = best.get(message_id)
                if best_id is None or (self.scores[candidate.id], candidate.id) > (self.scores[best_id], best_id):
                    best[message_id] = candidate.id
        messages = self.pool.candidates.values() if best else ()
        return {candidate.id: best[candidate.message_id] for candidate in messages if candidate.message_id in best}

    @cached_property
    def likelihoods(self) -> Mapping[str, float]:
        """How likely each candidate is to answer the query, 0 to 1; 0 for one of which nothing was found."""
        fit = self.weights.score
        base = (
            fit.base
            + fit.memories * math.log(max(self.pool.stats.memories, FEW))
            + fit.others * float(np.logaddexp(fit.nothing, self.together))
        )
        return {id_: 1 / (1 + math.exp(-(fit.evidence * own + base))) for id_, own in self.scores.items()}

    @property
    def together(self) -> float:
        """The logarithm of the sum of the exponentials of the evidence of the best that may be entries.

        What an outdated memory or a message hands on counts once, where it goes; so does a content that comes twice.
        """
        by_content: dict[str, float] = {}
        for candidate in self.pool.candidates.values():
            if candidate.holds and candidate.id not in self.learned:
                evidence, content = self.handed_on[candidate.id], candidate.content
                by_content[content] = max(evidence, by_content.get(content, -math.inf))
        return float(np.logaddexp.reduce(nlargest(_BEST, by_content.values())))

    def measure(self, name: str) -> Scores:
        """Return what findings tell as ``raw`` of a channel; nothing where the recall goes without it."""
        if name not in self._measures:
            channel = next((known for known in self._channels if known.name == name), None)
            measures = {} if channel is None else channel.measure(self.pool, self.query, self.by_channel[name])
            self._measures[name] = measures
        return self._measures[name]

    def findings(self, id_: str) -> list[Finding]:
        """Tell what a candidate's evidence is made of; what is weighted adds up to what was found of it."""
        findings: list[Finding] = []
        for channel in self._channels:
            weighted = self.kinds[id_].channels[channel.name] * self.by_channel[channel.name].get(id_, 0.0)
            if weighted:
                measures = self.measure(channel.name)
                rank = _rank(measures, id_) if channel.ranks else None
                findings.append(Finding(channel.name, weighted, measures.get(id_), rank))
        return findings


def _rank(scores: Scores, id_: str) -> int | None:
    own = scores.get(id_)
    return None if not own else 1 + sum(score > own for score in scores.values())
