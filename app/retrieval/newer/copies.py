"""Tells which candidates are copies of one statement: a message, and what was learned of it."""

from collections.abc import Mapping, Sequence

from app.retrieval.pool import Candidate


def are_copies(one: Candidate, other: Candidate) -> bool:
    """Tell whether two candidates come of one message; where that was not read, whether they are of one moment."""
    if one.sources is None and other.sources is None:
        return one.session_id is not None and _moment(one) == _moment(other)
    return not _messages(one).isdisjoint(_messages(other))


def with_copies(
    pairs: Sequence[tuple[Candidate, Candidate]], best: Sequence[Candidate]
) -> list[tuple[Candidate, Candidate]]:
    """Add the other copies of the older ones, however much better they match, each with the same newer one."""
    found = {(older.id, newer.id): (older, newer) for older, newer in pairs}
    for older, newer in pairs:
        for copy in best:
            if copy.id not in {older.id, newer.id} and copy.happened_at < newer.happened_at and are_copies(copy, older):
                found.setdefault((copy.id, newer.id), (copy, newer))
    return list(found.values())


def owned(best: Sequence[Candidate], speakers: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Return who speaks in each candidate: in one that was learned, who speaks in its messages where that is one."""
    owners = dict(speakers)
    by_message = {one.message_id: speakers[one.id] for one in best if one.message_id}
    for one in best:
        said = {tuple(by_message[id_]) for id_ in one.sources or () if id_ in by_message}
        if len(said) == 1:
            owners[one.id] = list(said.pop())
    return owners


def _messages(one: Candidate) -> set[str]:
    return {*(one.sources or ()), *([one.message_id] if one.message_id else [])}


def _moment(one: Candidate) -> tuple[str | None, int]:
    return one.session_id, one.happened_at
