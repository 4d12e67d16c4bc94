"""Lets what holds now take the place of what it supersedes (ADR 0025), and a newer value that of an older one."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from app.domain.comparing import Comparison, may_bear
from app.retrieval.pool import Candidate, Pool

Changed: TypeAlias = Mapping[str, Sequence[str]]
"""Candidates whose value has changed with those that state a newer one, which come later in the mapping themselves."""


def undecided(first: Sequence[Candidate], most: int) -> Sequence[tuple[Candidate, Candidate]]:
    """Return pairs of candidates that nobody has compared, the older of each first; those of the best first."""
    places = {one.id: place for place, one in enumerate(first)}
    pairs = [
        (one, other) if one.statement.is_before(other.statement) else (other, one)
        for one, other in combinations(first, 2)
        if one.uncompared or other.uncompared
    ]
    pairs = [(older, newer) for older, newer in pairs if may_bear(older.statement, newer.statement)]
    return sorted(pairs, key=lambda pair: places[pair[0].id] + places[pair[1].id])[:most]


def decide(pool: Pool, comparisons: Sequence[Comparison]) -> None:
    """Have candidates take each other's place as comparisons say, as if these had been recorded before."""
    for one in sorted(comparisons, key=lambda one: one.newer_id):
        older = pool.candidates[one.older_id]
        if one.effect is not None:
            older.current, older.until = one.newer_id, pool.candidates[one.newer_id].happened_at
            older.compared = True
            older.superseded |= one.effect == "hides"


def succeeded(pool: Pool, scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, with that of each outdated candidate handed on to the one that states what holds now.

    Who asks where somebody lives matches "I live in Rome" better than "I moved to Oslo", and means the latter. An
    outdated candidate itself scores no more than the one that holds, unless it states something else that holds. One
    that says more than what is outdated is left alone unless the query asks for just that: it may be found for more; or
    unless a reader has found that the other takes its place.
    """
    candidates = pool.candidates
    heirs: dict[str, str] = {}
    for one in candidates.values():
        heir = None if one.current is None else candidates.get(one.current)
        if heir is not None and (one.superseded or heir.keyed or one.compared) and {one.id, heir.id} <= scores.keys():
            heirs[one.id] = heir.id
    passed_on = dict(scores)
    for id_ in heirs:
        heir_id = _last(heirs, id_)
        passed_on[heir_id] = max(passed_on[heir_id], scores[id_])
    for id_ in heirs.keys() - set(heirs.values()):
        passed_on[id_] = min(passed_on[id_], passed_on[heirs[id_]])
    return passed_on


def _last(heirs: Mapping[str, str], id_: str) -> str:
    """Return the last of those that take each other's place, from a candidate on, whoever comes twice."""
    last, passed = id_, {id_}
    while last in heirs and heirs[last] not in passed:
        last = heirs[last]
        passed.add(last)
    return last


def handed_on(scores: Mapping[str, float], changed: Changed) -> dict[str, float]:
    """Return the scores, with that of each candidate whose value has changed handed on to those that state a newer one.

    It keeps its own score too: both may hold, each of something else.
    """
    passed_on = dict(scores)
    for older, later in changed.items():
        for newer in later:
            passed_on[newer] = max(passed_on[newer], passed_on[older])
    return passed_on


def handed_on_to_learned(scores: Mapping[str, float], changed: Changed, learned: Changed) -> dict[str, float]:
    """Return the scores, with those of what has changed handed on, and then those of messages to what was learned.

    What was learned takes its message's place before too: what corrects it goes before it there as well.
    """
    passed_on = handed_on(scores, learned) if changed and learned else scores
    return handed_on(handed_on(passed_on, changed), learned)


def steps(changed: Changed) -> Mapping[str, int]:
    """Return how many older values each candidate comes after, for the order of those that have one score."""
    found: dict[str, int] = {}
    for older, later in changed.items():
        for newer in later:
            found[newer] = max(found.get(newer, 0), found.get(older, 0) + 1)
    return found
