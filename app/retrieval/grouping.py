"""Groups: the best memories of each session, and how likely one of them answers (docs/retrieval.md)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from app.domain.limits import MAX_GROUPED_METADATA, MAX_OF_GROUP
from app.domain.query import Group, Query
from app.retrieval.pool import Candidate
from app.retrieval.search import Search
from app.retrieval.selection import within


def chosen(search: Search, query: Query) -> tuple[Sequence[Candidate], Sequence[Group] | None]:
    """Return the candidates that are the entries, and the groups that they are in, where that is asked."""
    if query.group_by is None:
        return list(islice(search.ranked(query), query.top_k)), None
    groups = grouped(search.eligible(query), search.score, top_k=query.top_k, max_tokens=query.max_tokens)
    return [search.fusion.pool.candidates[id_] for group in groups for id_ in group.entries], groups


def counted(candidates: Iterable[Candidate], query: Query) -> Iterable[Candidate]:
    """Give one candidate for each thing that ``top_k`` counts: each, or the first of each group."""
    return candidates if query.group_by is None else _first_of_each(candidates)


def grouped(
    ranked: Iterable[Candidate], score: Callable[[Candidate], float], *, top_k: int, max_tokens: int | None = None
) -> Sequence[Group]:
    """Return the best groups of candidates, which come best first, as far as their size allows it.

    What its group has no place for takes none of the tokens and bytes that others may have.
    """
    members: dict[tuple[str | None, str], list[Candidate]] = {}
    # Each is asked for after those before it have their places: only then is it known whether its group is full.
    with_place = (one for one in ranked if len(members.get(_key(one), ())) < MAX_OF_GROUP)
    left = MAX_GROUPED_METADATA
    for one in within(with_place, max_tokens):
        left -= len(one.metadata_json)
        if left < 0:  # what is behind it is worse, and an answer of any size would hold up others
            break
        members.setdefault(_key(one), []).append(one)
    groups = [
        Group(session_id, any_of(map(score, ones)), [one.id for one in ones])
        for (session_id, _), ones in members.items()
    ]
    # Sorting keeps the order of equals, which is that of their best entries.
    return sorted(groups, key=lambda group: group.score, reverse=True)[:top_k]


def any_of(scores: Iterable[float]) -> float:
    """Return how likely one of several memories answers, as if none told of the others: 1 - (1-a)(1-b)...

    It is summed up from the front, so that of one memory it is its own score to the last bit.
    """
    likely = 0.0
    for each in scores:
        likely += each * (1 - likely)
    return likely


def _first_of_each(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Give the first candidate of each group."""
    seen = set[tuple[str | None, str]]()
    for candidate in candidates:
        key = _key(candidate)
        if key not in seen:
            seen.add(key)
            yield candidate


def _key(candidate: Candidate) -> tuple[str | None, str]:
    """Return what the candidates of a group have in common: a memory without a session has its own id."""
    return (candidate.session_id, "" if candidate.session_id is not None else candidate.id)
