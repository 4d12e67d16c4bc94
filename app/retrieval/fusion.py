"""Fusion: what each channel and each cue adds to a memory's score (docs/retrieval.md tells how it was measured)."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.query import Finding, Part
from app.retrieval.channels import lexical, neighbours, vector
from app.retrieval.pool import Candidate, Pool
from app.retrieval.query import names
from app.retrieval.query.periods import EARLIEST, LATEST, Anchor, Period, lift
from app.retrieval.query.terms import Term, terms

_LEXICAL, _VECTOR = 0.6, 0.4
_SMOOTHING = 0.4
_SESSION = 0.3
_SPEAKER = 0.3
_TIME = 1.0
_RECENT = 0.5
_EVENT = 0.5
"""An event that was looked for may be another than is meant."""


@dataclass(frozen=True, slots=True)
class Recency:
    """A preference for recent memories, in ms: since when ages are counted, and at which it has halved."""

    reference: int
    half_life: float

    def of(self, happened_at: int) -> float:
        """Return 1 for what has just happened, or has yet to, and 0.5 at the half-life."""
        return math.exp2(-max(self.reference - happened_at, 0) / self.half_life)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the channels take it."""

    text: str
    terms: Sequence[Term]
    periods: Sequence[Period] = ()
    anchors: Sequence[Anchor] = ()
    recency: Recency | None = None


class Fusion:
    """One recall's candidates with their scores. Each step is a mapping by id, so that any score can be explained."""

    def __init__(self, asked: Asked, pool: Pool, cosines: Mapping[str, float], without: Collection[Part] = ()) -> None:
        """Score the pool by the query's words, by ``cosines`` and by the cues that are not left out."""
        self.pool = pool
        self.cosines = cosines
        ids = pool.candidates
        weights = lexical.weights(pool, len(asked.terms))
        self.covered = lexical.scores(pool, weights, context="context" not in without)
        best, whole = max(self.covered.values(), default=0.0), sum(weights)
        self.coverage = min(1.0, best / whole) if whole else 0.0
        # Between the most that is covered and all there is to cover: where no memory has much of the query in it,
        # words have less to say.
        scale = math.sqrt(best * max(best, whole)) or 1.0
        lexical_share = 0.0 if "lexical" in without else _LEXICAL / scale
        self.by_words = {id_: lexical_share * covered for id_, covered in self.covered.items()}
        self.meant = {} if "vector" in without else vector.scores(cosines, ids)
        own = {id_: self.by_words[id_] + _VECTOR * self.meant.get(id_, 0.0) for id_ in ids}
        self.lent = {} if "smoothing" in without else neighbours.lent(pool, own)
        near = {id_: score + _SMOOTHING * self.lent.get(id_, 0.0) for id_, score in own.items()}
        self.sessions = {} if "session" in without else neighbours.of_sessions(pool, near)
        self.base = {id_: score + _SESSION * self.sessions.get(id_, 0.0) for id_, score in near.items()}
        named = frozenset[str]() if "names" in without else names.named(asked.text)
        self.speakers = {id_: 1 + _SPEAKER * names.speaks(ids[id_], named) for id_ in ids}
        self.lifts = {} if "time" in without else self._lifts(asked, weights)
        recency = asked.recency
        self.recent = {} if recency is None else {id_: recency.of(ids[id_].happened_at) for id_ in ids}
        self.scores = {
            id_: base * self.speakers[id_] + _TIME * self.lifts.get(id_, 0.0) + _RECENT * self.recent.get(id_, 0.0)
            for id_, base in self.base.items()
        }

    def _lifts(self, asked: Asked, weights: list[float]) -> dict[str, float]:
        """Return what each candidate has from the times that the query names, 0 to 1."""
        events = list(self._beside_events(asked, weights))
        if not asked.periods and not events:
            return {}
        return {
            id_: max(lift(asked.periods, candidate.happened_at), _EVENT * lift(events, candidate.happened_at))
            for id_, candidate in self.pool.candidates.items()
        }

    def _beside_events(self, asked: Asked, weights: list[float]) -> Iterator[Period]:
        """Give the time before or after each event that the query names, where a candidate tells of it."""
        for anchor in asked.anchors:
            words = {term.text for term in terms(anchor.phrase)}
            meant = [number for number, term in enumerate(asked.terms) if term.text in words]
            event = lexical.best(self.pool, weights, meant)
            if event is None:
                continue
            before = anchor.direction == "before"
            start, end = (EARLIEST, event.happened_at) if before else (event.happened_at + 1, LATEST)
            yield Period(start, end, anchor.phrase)

    @cached_property
    def ranked(self) -> list[Candidate]:
        """The candidates best first; ties go to the newer."""
        candidates, scores = self.pool.candidates.values(), self.scores
        return sorted(candidates, key=lambda one: (scores[one.id], one.created_at, one.id), reverse=True)

    def findings(self, id_: str) -> list[Finding]:
        """Tell what a candidate's score is made of; what is weighted adds up to it."""
        base, speaker, time = self.base[id_], self.speakers[id_], self.lifts.get(id_, 0.0)
        parts = [
            Finding("lexical", self.by_words[id_], self.covered[id_], _rank(self.covered, id_)),
            Finding("vector", _VECTOR * self.meant.get(id_, 0.0), self.cosines.get(id_), _rank(self.cosines, id_)),
            Finding("smoothing", _SMOOTHING * self.lent.get(id_, 0.0), self.lent.get(id_)),
            Finding("session", _SESSION * self.sessions.get(id_, 0.0), self.sessions.get(id_)),
            Finding("names", base * (speaker - 1), speaker),
            Finding("time", _TIME * time, time),
            Finding("recency", _RECENT * self.recent.get(id_, 0.0), self.recent.get(id_)),
        ]
        return [finding for finding in parts if finding.weighted]


def _rank(scores: Mapping[str, float], id_: str) -> int | None:
    own = scores.get(id_)
    return None if not own else 1 + sum(score > own for score in scores.values())
