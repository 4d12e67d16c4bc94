"""Fusion: adds up the channels' scores of a candidate as evidence that it answers, and makes a likelihood of the sum.

Entries show the likelihood as their score (docs/retrieval.md). It is made of the candidate's own evidence, of the
evidence of all other candidates, and of how many memories the scope has: of a hundred memories with about the same
evidence, each is likely to be one of the ninety-nine that do not answer. It rises with the evidence, so that scores
come in the order of entries. ``app/retrieval/weights.toml`` has the numbers, which were fitted to labelled questions.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from heapq import nlargest

from app.domain.query import Finding
from app.retrieval.channels import CHANNELS
from app.retrieval.channels.channel import Channel, Scores
from app.retrieval.pool import Candidate, Pool, newness
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.succession import handed_on
from app.retrieval.weights import WEIGHTS, KindWeights, Weights

_LEAST = 1e-6
"""A channel's score counts only above this: decades away from a time that is asked for, it is next to nothing."""
_BEST = 50
"""Contents whose evidence is summed up: the sum does not depend on how many candidates were gathered."""
_ASKS_LESS = 4.0
"""Log odds by which a memory that only asks is less likely to answer than one with the same evidence: 1 to 55."""
FEW = 10
"""Memories that a smaller scope counts as having."""


class Fusion:
    """One recall's candidates with their evidence, by channel and in all, so that any score can be explained."""

    def __init__(
        self,
        query: ParsedQuery,
        pool: Pool,
        channels: Sequence[Channel] = CHANNELS,
        weights: Weights = WEIGHTS,
    ) -> None:
        """Score the pool by each channel whose cue is there, in the channels' order."""
        self.pool = pool
        self.query = query
        self.weights = weights
        self._channels = channels
        self.by_channel: dict[str, Scores] = {}
        """The scores of each channel by its name, before they are weighted."""
        fused = dict.fromkeys(pool.candidates, 0.0)
        cues = query.cues | pool.cues if fused else ()
        for channel in channels:
            scores = channel.score(pool, query, fused) if channel.cue in cues else {}
            counted = {id_: score for id_, score in scores.items() if score > _LEAST} if scores else scores
            self.by_channel[channel.name] = counted
            if counted:
                self._add(channel.name, counted, fused)
        self.found: Mapping[str, float] = fused
        """The weighted sum of the channels' scores of each candidate."""
        self.scores: Mapping[str, float] = self._evidence()
        """The evidence, by which candidates are ordered; minus infinity for a candidate that no channel has scored."""
        self._measures: dict[str, Scores] = {}
        """The measures of channels so far, by the channel's name: most recalls need those of few channels."""

    def _add(self, channel: str, counted: Scores, fused: dict[str, float]) -> None:
        """Add a channel's scores, weighted, to the sums."""
        candidates = self.pool.candidates
        note, turn = self.weights.note.channels[channel], self.weights.turn.channels[channel]
        for id_, score in counted.items():
            fused[id_] += (note if candidates[id_].session_id is None else turn) * score

    def kind(self, candidate: Candidate) -> KindWeights:
        """Return the weights for a candidate."""
        return self.weights.note if candidate.session_id is None else self.weights.turn

    def _evidence(self) -> dict[str, float]:
        """Return the evidence that each candidate answers, of what its channels give.

        A memory that only asks is as near to the query as can be where the query was asked before, and answers nothing.
        The base of a kind offsets the vector channel's score: it is left out where no vectors were compared.
        """
        note, turn = (self.weights.note.base, self.weights.turn.base) if self.pool.cosines else (0.0, 0.0)
        less, found = _ASKS_LESS / self.weights.score.evidence, self.found
        return {
            id_: found[id_] + (note if each.session_id is None else turn) - (less if each.asks else 0.0)
            if found[id_]
            else -math.inf
            for id_, each in self.pool.candidates.items()
        }

    def first(self, count: int) -> list[Candidate]:
        """Return the best candidates that may be entries and hold, best first, before any two are compared."""
        holding = (candidate for candidate in self.pool.candidates.values() if candidate.holds)
        return nlargest(count, holding, key=lambda candidate: (self.scores[candidate.id], newness(candidate)))

    @cached_property
    def handed_on(self) -> Mapping[str, float]:
        """The evidence, after outdated candidates and the messages of learned memories have handed theirs on."""
        return handed_on(self.pool, self.scores, self.learned)

    @cached_property
    def ranked(self) -> list[Candidate]:
        """The candidates that may be entries, best first.

        Of two with equal evidence the first is the one without a successor, then the learned one, then the newer one.
        """
        scores = self.handed_on
        return sorted(
            [candidate for candidate in self.pool.candidates.values() if candidate.whole],
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
        """By the id of a message's candidate, the id of the best memory learned of it, which takes its place."""
        best: dict[str, str] = {}
        for candidate in self.pool.learned:
            for message_id in (candidate.sources or ()) if candidate.holds else ():
                best_id = best.get(message_id)
                if best_id is None or (self.scores[candidate.id], candidate.id) > (self.scores[best_id], best_id):
                    best[message_id] = candidate.id
        messages = self.pool.candidates.values() if best else ()
        return {candidate.id: best[candidate.message_id] for candidate in messages if candidate.message_id in best}

    @property
    def likelihoods(self) -> Mapping[str, float]:
        """How likely each candidate is to answer the query, 0 to 1; 0 for a candidate that no channel has scored."""
        return {id_: self.likelihood(evidence) for id_, evidence in self.scores.items()}

    def likelihood(self, evidence: float) -> float:
        """Return how likely a candidate with this evidence is to answer the query, 0 to 1."""
        return 1 / (1 + math.exp(-(self.weights.score.evidence * evidence + self._base)))

    @cached_property
    def _base(self) -> float:
        """What the log odds of each candidate have of the scope's memories, and of all candidates together."""
        fit = self.weights.score
        others = _log_of_sum([fit.nothing, self.together])
        return fit.base + fit.memories * math.log(max(self.pool.stats.memories, FEW)) + fit.others * others

    @property
    def together(self) -> float:
        """The logarithm of the sum of the exponentials of the best candidates' evidence, of those that may be entries.

        Evidence that an outdated memory or a message hands on counts once, for the candidate that takes it. A content
        that two candidates have counts once, too.
        """
        evidence, learned = self.handed_on, self.learned
        holding = [each for each in self.pool.candidates.values() if each.holds and each.id not in learned]
        # Of those with one content the one with most evidence is the last.
        by_content = {content: own for own, content in sorted([(evidence[each.id], each.content) for each in holding])}
        return _log_of_sum(sorted(by_content.values(), reverse=True)[:_BEST])

    def measure(self, name: str) -> Scores:
        """Return the values that findings show as ``raw`` for a channel; empty where the recall goes without it."""
        if name not in self._measures:
            channel = next((known for known in self._channels if known.name == name), None)
            measures = {} if channel is None else channel.measure(self.pool, self.query, self.by_channel[name])
            self._measures[name] = measures
        return self._measures[name]

    def findings(self, id_: str) -> list[Finding]:
        """Return a finding for each channel that has scored a candidate; their weighted scores add up to ``found``."""
        findings: list[Finding] = []
        weights = self.kind(self.pool.candidates[id_]).channels
        for channel in self._channels:
            weighted = weights[channel.name] * self.by_channel[channel.name].get(id_, 0.0)
            if weighted:
                measures = self.measure(channel.name)
                rank = _rank(measures, id_) if channel.ranks else None
                findings.append(Finding(channel.name, weighted, measures.get(id_), rank))
        return findings


def _log_of_sum(logarithms: Sequence[float]) -> float:
    """Return the logarithm of the sum of numbers, of their logarithms; minus infinity where there is none."""
    most = max(logarithms, default=-math.inf)
    if most == -math.inf:
        return most
    return most + math.log(math.fsum([math.exp(each - most) for each in logarithms]))


def _rank(scores: Scores, id_: str) -> int | None:
    own = scores.get(id_)
    return None if not own else 1 + sum(score > own for score in scores.values())
