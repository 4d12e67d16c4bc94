"""A learned memory stands for its message: it has the message's former statements, and an answer quotes one of both."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.domain.moments import moment
from app.domain.query import Entry
from app.language.dates.days import resolved
from app.language.sentences import sentences
from app.retrieval.pool import Candidate
from app.services.learning.reading import MAX_READ
from app.services.memories.recall import Recall


def with_former_statements(recall: Recall) -> Recall:
    """Return a recall whose learned entries have the former statements of their messages, too.

    A message that is an entry itself keeps its former statements.
    """
    if not recall.sources:
        return recall
    listed = {entry.id for entry in recall.entries}
    stands_for = {
        id_: [message for message in messages if message not in listed]
        for id_, messages in recall.sources.items()
        if id_ in listed
    }
    return _moved(recall, stands_for, listed)


def without_repetitions(recall: Recall, min_score: float) -> Recall:
    """Return a recall without repetitions: of a message and the memory that was learned of it, one entry is left.

    Only messages of one sentence count, and learned memories that score ``min_score``. The message is left out; if the
    message alone names a time, the learned memory is left out instead.
    """
    repeated = list(_repeated(recall, min_score))
    superfluous = {id_ for _, id_ in repeated}
    stands_for = defaultdict[str, list[str]](list)
    for remaining, id_ in repeated:
        if remaining not in superfluous:
            stands_for[remaining].append(id_)
    gone = {id_ for ids in stands_for.values() for id_ in ids}
    if not gone:
        return recall
    left = [entry for entry in recall.entries if entry.id not in gone]
    return replace(_moved(recall, stands_for, {entry.id for entry in left}), entries=left)


def _repeated(recall: Recall, min_score: float) -> Iterator[tuple[str, str]]:
    """Yield pairs of ids: an entry that stays, and the entry that repeats it."""
    entries = {entry.id: entry for entry in recall.entries}
    for id_, message_ids in recall.sources.items():
        learned = entries.get(id_)
        if learned is None or learned.score < min_score:
            continue
        for message in filter(None, map(entries.get, message_ids)):
            if not _is_brief(message):
                continue
            if not _tells_time(message) or _tells_time(learned):
                yield id_, message.id
            elif len(message_ids) == 1:
                yield message.id, id_


def _moved(recall: Recall, stands_for: Mapping[str, Sequence[str]], listed: set[str]) -> Recall:
    """Give entries the former statements of the entries for which they stand, each statement once."""
    formers = dict(recall.formers)
    for id_, others in stands_for.items():
        for other in others:
            if other in recall.formers:
                both = [*formers.get(id_, ()), *recall.formers[other]]
                formers[id_] = list({one.id: one for one in both if one.id != id_}.values())
    return replace(recall, formers={id_: _once(former, listed) for id_, former in formers.items()})


def _once(formers: Sequence[Candidate], listed: set[str]) -> Sequence[Candidate]:
    """Leave out each message from which another of the former statements was learned, unless it is an entry."""
    told = {message for one in formers for message in one.sources or ()}
    return [one for one in formers if one.id in listed or one.message_id not in told]


def _is_brief(entry: Entry) -> bool:
    return len(sentences(entry.content[:MAX_READ])) <= 1


def _tells_time(entry: Entry) -> bool:
    return bool(resolved(entry.content[:MAX_READ], moment(entry.happened_at)))
