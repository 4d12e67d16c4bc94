"""Finds which of the best candidates states a newer value of what another one states a value of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.retrieval.channels.channel import ParsedQuery, Scores
from app.retrieval.newer.asking import Asking, asking
from app.retrieval.newer.stated_values import MAX_READ, StatedValue, stated_values
from app.retrieval.newer.wording import codes
from app.retrieval.pool import Candidate

COMPARED = 8
"""So many of the best candidates are compared with each other."""
_COMPARABLE = 0.5
"""The newer one scores at least this share of what the older one does."""
_SHARED, _SHARED_OF_ANY = 2, 0.5
"""Words of the query that two statements share; where any kind of value may answer, at least this share of them."""
_BESIDE = 2
"""A plain number that counts nothing stands so near to a word of the query that names it: "port 8081"."""


def newer_values(query: ParsedQuery, ranked: Sequence[Candidate], scores: Scores) -> Mapping[str, Sequence[str]]:
    """Return the candidates whose value has changed, each with those that state a newer one, in the order of the best.

    Nothing is returned of those that are in order already: each is ranked before the ones that change its value.
    """
    best = [one for one in ranked if not (one.superseded or one.added or one.expired)][:COMPARED]
    pairs = [(older, newer) for place, older in enumerate(best) for newer in best[place + 1 :]]
    pairs = [pair for pair in pairs if _may_change(*pair, scores)]
    asked = asking(query.text) if pairs else None
    if asked is None:
        return {}
    comparison = _Comparison(asked, best)
    named = {one.id for one in best if not asked.codes or asked.codes <= codes(one.content[:MAX_READ])}
    found: dict[str, dict[str, int]] = {}
    for older, newer in pairs:
        shared = comparison.shared(older, newer) if newer.id in named else 0
        if shared:
            found.setdefault(older.id, {})[newer.id] = shared
    return {older: _closest(later) for older, later in found.items()}


def _closest(shared: Mapping[str, int]) -> Sequence[str]:
    """Return those that share the most."""
    most = max(shared.values())
    return [id_ for id_, each in shared.items() if each == most]


def said(candidate: Candidate) -> tuple[int, int, str]:
    """Return what orders candidates by when they were said."""
    return candidate.happened_at, candidate.created_at, candidate.id


def _may_change(older: Candidate, newer: Candidate, scores: Scores) -> bool:
    """Tell whether the same speaker says something later that is about as good a match."""
    if said(newer) <= said(older) or scores[newer.id] < _COMPARABLE * scores[older.id]:
        return False
    return newer.speaker == older.speaker


@dataclass(frozen=True)
class _Comparison:
    """Compares what candidates state, each of which is read once."""

    asked: Asking
    best: Sequence[Candidate]
    read: dict[str, list[StatedValue]] = field(default_factory=dict)

    def shared(self, older: Candidate, newer: Candidate) -> int:
        """Return how many of the query's words two candidates share that state different values, else 0."""
        before = self._stated(older)
        after = self._stated(newer) if before else []
        if not after:
            return 0
        known, lacking = self._known(newer), self._lacks(older, newer)
        return max(
            (
                self._shared(one, other)
                for other in after
                if (other.value.kind, other.value.text) not in known and (other.changed or not lacking)
                for one in before
            ),
            default=0,
        )

    def _stated(self, candidate: Candidate) -> list[StatedValue]:
        if candidate.id not in self.read:
            self.read[candidate.id] = stated_values(self.asked, candidate.content)
        return self.read[candidate.id]

    def _lacks(self, older: Candidate, newer: Candidate) -> bool:
        """Tell whether the older one has a word of the query that the newer one lacks."""
        before, after = older.content.lower(), newer.content.lower()
        return any(each in before and each not in after for each in self.asked.stems)

    def _known(self, newer: Candidate) -> set[tuple[str, str]]:
        """Return the values that were stated before: who tells them again changes nothing."""
        earlier = (one for one in self.best if said(one) < said(newer))
        return {(each.value.kind, each.value.text) for one in earlier for each in self.read.get(one.id, ())}

    def _shared(self, older: StatedValue, newer: StatedValue) -> int:
        """Return how many of the query's words two statements share; 0 where they state values of different things."""
        shared = len(older.near.keys() & newer.near.keys())
        compare = shared >= self._wanted and older.of_another == newer.of_another and self._same_kind(older, newer)
        return shared if compare else 0

    @cached_property
    def _wanted(self) -> float:
        """How many of the query's words two statements share at least."""
        words = len(self.asked.stems)
        if self.asked.by_name:
            return words
        return max(min(_SHARED, words), _SHARED_OF_ANY * words if self.asked.of_any_kind else 0)

    def _same_kind(self, older: StatedValue, newer: StatedValue) -> bool:
        one, other = older.value, newer.value
        if one.kind != "number" or other.kind != "number":
            return one.kind == other.kind
        if self.asked.counted:
            named = self.asked.counted & older.near.keys()
            counted = {one.counted, other.counted} - {""}
            return bool(named) and named <= newer.near.keys() and counted <= set(self.asked.stems)
        if one.counted and one.counted == other.counted:
            return True
        both = older.near.keys() & newer.near.keys()
        return any(older.near[each] <= _BESIDE and newer.near[each] <= _BESIDE for each in both)
