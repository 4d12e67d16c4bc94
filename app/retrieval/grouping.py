"""Groups: the best memories of each session, and how likely one of them answers (docs/retrieval.md)."""

from collections.abc import Callable, Iterable, Sequence

from app.domain.limits import MAX_GROUPED_METADATA, MAX_OF_GROUP
from app.domain.query import Group
from app.retrieval.pool import Candidate
from app.retrieval.selection import group_of, within


def grouped(
    ranked: Iterable[Candidate], score: Callable[[Candidate], float], *, top_k: int, max_tokens: int | None = None
) -> Sequence[Group]:
    """Return the best groups of candidates, which come best first, as far as their size allows it.

    A candidate whose group is full takes none of the tokens and bytes that other candidates may have.
    """
    members: dict[tuple[str | None, str], list[Candidate]] = {}
    # The generator gives a candidate after those before it are in their groups: then it is known which group is full.
    with_place = (candidate for candidate in ranked if len(members.get(group_of(candidate), ())) < MAX_OF_GROUP)
    left = MAX_GROUPED_METADATA
    for candidate in within(with_place, max_tokens):
        left -= len(candidate.metadata_json)
        if left < 0:  # the candidates behind it are worse, and an answer of any size would hold up other requests
            break
        members.setdefault(group_of(candidate), []).append(candidate)
    groups = [
        Group(session_id, any_of(map(score, candidates)), [candidate.id for candidate in candidates])
        for (session_id, _), candidates in members.items()
    ]
    # Sorting keeps the order of groups with equal scores, which is the order of their best entries.
    return sorted(groups, key=lambda group: group.score, reverse=True)[:top_k]


def any_of(scores: Iterable[float]) -> float:
    """Return how likely one of several memories answers, as if their scores were independent: 1 - (1-a)(1-b)...

    The sum begins with the first score, so that for one memory the result is its score to the last bit.
    """
    likely = 0.0
    for score in scores:
        likely += score * (1 - likely)
    return likely
