"""Lets what holds now take the place of what it supersedes (ADR 0025)."""

from collections.abc import Mapping

from app.retrieval.pool import Pool


def succeeded(pool: Pool, scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, with that of each outdated candidate handed on to the one that states what holds now.

    Who asks where somebody lives matches "I live in Rome" better than "I moved to Oslo", and means the latter. An
    outdated candidate itself scores no more than the one that holds, unless it states something else that holds. One
    that says more than what is outdated is left alone unless the query asks for just that: it may be found for more.
    """
    candidates = pool.candidates
    heirs: dict[str, str] = {}
    for one in candidates.values():
        heir = None if one.current is None else candidates.get(one.current)
        if heir is not None and (one.superseded or heir.keyed) and {one.id, heir.id} <= scores.keys():
            heirs[one.id] = heir.id
    passed_on = dict(scores)
    for id_, heir_id in heirs.items():
        passed_on[heir_id] = max(passed_on[heir_id], scores[id_])
    for id_ in heirs.keys() - set(heirs.values()):
        passed_on[id_] = min(passed_on[id_], passed_on[heirs[id_]])
    return passed_on
