"""Lets a successor take the place of the memory it supersedes (ADR 0025), and a learned memory that of its message."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from app.domain.comparing import Comparison, may_bear
from app.language.telling import are_apart, language_of
from app.retrieval.pool import Candidate, Pool


def undecided(first: Sequence[Candidate], most: int) -> Sequence[tuple[Candidate, Candidate]]:
    """Return up to ``most`` pairs of candidates not compared yet, the older first; pairs of the best come first."""
    ranks = {one.id: rank for rank, one in enumerate(first)}
    pairs = [
        (one, other) if one.statement.is_before(other.statement) else (other, one)
        for one, other in combinations(first, 2)
        if one.uncompared or other.uncompared
    ]
    languages = {one.id: language_of(one.content) for one in first}
    pairs = [
        (older, newer)
        for older, newer in pairs
        if may_bear(older.statement, newer.statement) and not are_apart(languages[older.id], languages[newer.id])
    ]
    return sorted(pairs, key=lambda pair: ranks[pair[0].id] + ranks[pair[1].id])[:most]


def decide(pool: Pool, comparisons: Sequence[Comparison]) -> None:
    """Set the candidates' successors as comparisons say, as if these had been recorded before the recall.

    A successor by a key, which a memory was stored with, goes before a successor that a reader has found.
    """
    for comparison in sorted(comparisons, key=lambda comparison: comparison.newer_id):
        older = pool.candidates[comparison.older_id]
        replaced_by_key = older.current is not None and older.update is None
        if comparison.effect is not None and not replaced_by_key:
            older.current, older.until = comparison.newer_id, pool.candidates[comparison.newer_id].happened_at
            older.update = comparison.probability
            older.superseded |= comparison.effect == "hides"


def succeeded(pool: Pool, scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, with that of each outdated candidate handed on to its last successor.

    "Where do I live?" matches "I live in Rome" better than "I moved to Oslo", and means the latter. An
    outdated candidate scores no more than its successor, unless it is the successor of another candidate. A candidate
    that is not superseded says more than what is outdated, and may match the query for the rest. It hands its score on
    only where the query asks for the successor's key, or where a reader has found that the successor is an update.
    """
    candidates = pool.candidates
    heirs: dict[str, str] = {}
    for candidate in candidates.values():
        heir = None if candidate.current is None else candidates.get(candidate.current)
        if heir is None or not {candidate.id, heir.id} <= scores.keys():
            continue
        if candidate.superseded or heir.keyed or candidate.update is not None:
            heirs[candidate.id] = heir.id
    passed_on = dict(scores)
    for id_ in heirs:
        heir_id = _last(heirs, id_)
        passed_on[heir_id] = max(passed_on[heir_id], scores[id_])
    for id_ in heirs.keys() - set(heirs.values()):
        passed_on[id_] = min(passed_on[id_], passed_on[heirs[id_]])
    return passed_on


def _last(heirs: Mapping[str, str], id_: str) -> str:
    """Return the id of the last successor in the chain from a candidate on; a cycle ends before an id comes twice."""
    last, passed = id_, {id_}
    while last in heirs and heirs[last] not in passed:
        last = heirs[last]
        passed.add(last)
    return last


def handed_on(pool: Pool, scores: Mapping[str, float], learned: Mapping[str, str]) -> dict[str, float]:
    """Return the scores, handed on by outdated candidates to successors, and by messages to memories learned of them.

    Messages hand their scores on before successions, and again after them: the successor of a learned memory then
    scores no less than the message.
    """
    return _to_learned(succeeded(pool, _to_learned(scores, learned)), learned)


def _to_learned(scores: Mapping[str, float], learned: Mapping[str, str]) -> dict[str, float]:
    """Return the scores, with those of messages handed on to learned memories; a message keeps its own score."""
    passed_on = dict(scores)
    for message, of_it in learned.items():
        if message in passed_on and of_it in passed_on:
            passed_on[of_it] = max(passed_on[of_it], passed_on[message])
    return passed_on
