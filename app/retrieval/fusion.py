"""Fusion: adds what each channel gives a candidate to its score (docs/retrieval.md tells how it was measured)."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from heapq import nlargest

from app.domain.query import Finding
from app.retrieval.channels import CHANNELS
from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.channels.learned import Learned
from app.retrieval.newer.pairs import newer_values
from app.retrieval.pool import Candidate, Pool
from app.retrieval.succession import Changed, handed_on_to_learned, steps, succeeded


class Fusion:
    """One recall's candidates with their scores, by channel and in all, so that any score can be explained."""

    def __init__(
        self, query: ParsedQuery, pool: Pool, channels: Sequence[Channel] = CHANNELS, *, by_wording: bool = True
    ) -> None:
        """Score the pool by each of the channels, in their order.

        ``by_wording``: whether what has changed is told by how candidates are worded, as where no reader compares them.
        """
        self.pool = pool
        self._by_wording = by_wording
        self.query = query
        self._channels = channels
        self.by_channel: dict[str, Scores] = {}
        """The scores of each channel by its name, before they are weighted."""
        fused = dict.fromkeys(pool.candidates, 0.0)
        for channel in channels:
            found = channel.score(pool, query, fused)
            self.by_channel[channel.name] = found
            for id_, score in found.items():
                fused[id_] += channel.weight * score
        self.scores: Mapping[str, float] = fused
        self._measures: dict[str, Scores] = {}
        """Of the channels that were asked for theirs: most recalls need those of few."""

    def first(self, count: int) -> list[Candidate]:
        """Return the best of the candidates that may be entries and hold, best first, before any two are compared."""
        may_be = (one for one in self.pool.candidates.values() if one.whole and not (one.superseded or one.added))
        return nlargest(count, may_be, key=lambda one: (self.scores[one.id], one.created_at, one.id))

    @cached_property
    def ranked(self) -> list[Candidate]:
        """The candidates that may be entries, best first; ties go to what holds, then to the newer."""
        if not (self.changed or self.learned):
            return self._found
        return self._sorted(handed_on_to_learned(self._succeeded, self.changed, self.learned))

    @cached_property
    def changed(self) -> Changed:
        """The candidates whose value has changed, each with those that state a newer one."""
        if not self._by_wording:
            candidates = self.pool.candidates
            compared = (one for one in self._found if one.compared and not one.superseded)
            ordered = sorted(compared, key=lambda one: (one.happened_at, one.id))
            return {one.id: [one.current] for one in ordered if one.current is not None and one.current in candidates}
        return newer_values(self.query, self._found, self._as_said)

    @cached_property
    def learned(self) -> Changed:
        """By the id of a message's candidate, the best of those that were learned of it, which takes its place."""
        best: dict[str, str] = {}
        for one in self.pool.candidates.values():
            for message_id in () if one.superseded or one.added or not one.whole else one.sources or ():
                other = best.get(message_id)
                if other is None or (self.scores[one.id], one.id) > (self.scores[other], other):
                    best[message_id] = one.id
        messages = self.pool.candidates.values() if best else ()
        return {one.id: [best[one.message_id]] for one in messages if one.message_id in best}

    @cached_property
    def _succeeded(self) -> Scores:
        return succeeded(self.pool, self.scores)

    @cached_property
    def _as_said(self) -> Scores:
        """The scores without what raises those that were learned: how well each matches, whoever wrote it."""
        raised = self.by_channel.get(Learned.name)
        if not raised:
            return self._succeeded
        weight = next(channel.weight for channel in self._channels if channel.name == Learned.name)
        return {id_: score - weight * raised.get(id_, 0.0) for id_, score in self._succeeded.items()}

    @cached_property
    def _found(self) -> list[Candidate]:
        """The candidates best first, before any two of them are compared."""
        return self._sorted(self._succeeded)

    def _sorted(self, scores: Scores) -> list[Candidate]:
        later: dict[str, int] = {}
        if scores is not self._succeeded:
            later |= steps(self.changed)
            for message, (learned,) in self.learned.items():
                later[learned] = max(later.get(learned, 0), later.get(message, 0) + 1)
        return sorted(
            (one for one in self.pool.candidates.values() if one.whole),
            key=lambda one: (scores[one.id], one.current is None, later.get(one.id, 0), one.created_at, one.id),
            reverse=True,
        )

    def measure(self, name: str) -> Scores:
        """Return what findings tell as ``raw`` of a channel; nothing where the recall goes without it."""
        if name not in self._measures:
            channel = next((each for each in self._channels if each.name == name), None)
            found = {} if channel is None else channel.measure(self.pool, self.query, self.by_channel[name])
            self._measures[name] = found
        return self._measures[name]

    def findings(self, id_: str) -> list[Finding]:
        """Tell what a candidate's score is made of; what is weighted adds up to it."""
        findings: list[Finding] = []
        for channel in self._channels:
            weighted = channel.weight * self.by_channel[channel.name].get(id_, 0.0)
            if weighted:
                measures = self.measure(channel.name)
                rank = _rank(measures, id_) if channel.ranks else None
                findings.append(Finding(channel.name, weighted, measures.get(id_), rank))
        return findings


def _rank(scores: Scores, id_: str) -> int | None:
    own = scores.get(id_)
    return None if not own else 1 + sum(score > own for score in scores.values())
