"""Finds which of the best candidates states a newer value of what another one states a value of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.retrieval.channels.channel import ParsedQuery, Scores
from app.retrieval.newer.asking import Asking, asking
from app.retrieval.newer.statements import Statement, statements
from app.retrieval.pool import Candidate

COMPARED = 8
"""So many of the best candidates are compared with each other."""
_COMPARABLE = 0.5
"""The newer one scores at least this share of what the older one does."""
_SHARED, _SHARED_OF_ANY = 2, 0.4
"""Words of the query that two statements share; where any kind of value may answer, at least this share of them."""
_BESIDE = 2
"""A plain number that counts nothing stands so near to a word of the query that names it: "port 8081"."""


def newer_values(query: ParsedQuery, ranked: Sequence[Candidate], scores: Scores) -> Mapping[str, str]:
    """Return the candidates whose value a later one changes, each with the later one, in the order of the ranking.

    Nothing is returned of those that are in order already: each is ranked before the one that changes its value.
    """
    best = [one for one in ranked if not (one.superseded or one.added or one.expired)][:COMPARED]
    pairs = [(older, newer) for place, older in enumerate(best) for newer in best[place + 1 :]]
    pairs = [pair for pair in pairs if _may_change(*pair, scores)]
    asked = asking(query.text) if pairs else None
    if asked is None:
        return {}
    comparison = _Comparison(asked, best)
    found: dict[str, tuple[tuple[int, tuple[int, int, str]], str]] = {}
    for older, newer in pairs:
        if shared := comparison.shared(older, newer):
            found[older.id] = max(found.get(older.id, ((0, (0, 0, "")), "")), ((shared, said(newer)), newer.id))
    return {older: newer for older, (_, newer) in found.items()}


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
    read: dict[str, list[Statement]] = field(default_factory=dict)

    def shared(self, older: Candidate, newer: Candidate) -> int:
        """Return how many of the query's words two candidates share that state different values, else 0."""
        before = self._stated(older)
        after = self._stated(newer) if before else []
        if not after:
            return 0
        known = self._known(newer)
        content = newer.content.lower()
        lacking = frozenset(each for each in self.asked.stems if each not in content)
        return max(
            (
                self._shared(one, other, lacking)
                for other in after
                if (other.value.kind, other.value.text) not in known
                for one in before
            ),
            default=0,
        )

    def _stated(self, candidate: Candidate) -> list[Statement]:
        if candidate.id not in self.read:
            self.read[candidate.id] = statements(self.asked, candidate.content)
        return self.read[candidate.id]

    def _known(self, newer: Candidate) -> set[tuple[str, str]]:
        """Return the values that were stated before: who tells them again changes nothing."""
        earlier = (one for one in self.best if said(one) < said(newer))
        return {(each.value.kind, each.value.text) for one in earlier for each in self.read.get(one.id, ())}

    def _shared(self, older: Statement, newer: Statement, lacking: frozenset[str]) -> int:
        """Return how many of the query's words two statements share; 0 where they state values of different things."""
        if older.of_another != newer.of_another or not self._same_kind(older, newer):
            return 0
        if not newer.changed and not lacking.isdisjoint(older.near):
            return 0  # it says nothing of a part of what is asked, and nothing of a change
        shared = len(older.near.keys() & newer.near.keys())
        return shared if shared >= self._wanted else 0

    @property
    def _wanted(self) -> float:
        """How many of the query's words two statements share at least."""
        words = len(self.asked.stems)
        if self.asked.by_name:
            return words
        return max(min(_SHARED, words), _SHARED_OF_ANY * words if self.asked.of_any_kind else 0)

    def _same_kind(self, older: Statement, newer: Statement) -> bool:
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
