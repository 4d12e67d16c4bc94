"""What was learned stands for its message: it has what held before it, and an answer quotes one of both."""

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
    """Return a recall whose learned entries have what held before their messages.

    That is so for messages that are no entries themselves.
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
    """Return a recall without what says again what another entry says: a message, or what was learned of it.

    That is so of messages of one sentence where what was learned scores ``min_score``. The message is left out, or, if
    it alone says when, what was learned of it.
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
    """Give each entry that says what another one says, behind that one."""
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
    """Give entries what held before the ones for which they stand, each statement once."""
    formers = dict(recall.formers)
    for id_, others in stands_for.items():
        for other in others:
            if other in recall.formers:
                both = [*formers.get(id_, ()), *recall.formers[other]]
                formers[id_] = list({one.id: one for one in both if one.id != id_}.values())
    return replace(recall, formers={id_: _once(former, listed) for id_, former in formers.items()})


def _once(formers: Sequence[Candidate], listed: set[str]) -> Sequence[Candidate]:
    """Leave out the messages of which something among the others was learned; one that is an entry stays."""
    told = {message for one in formers for message in one.sources or ()}
    return [one for one in formers if one.id in listed or one.message_id not in told]


def _is_brief(entry: Entry) -> bool:
    return len(sentences(entry.content[:MAX_READ])) <= 1


def _tells_time(entry: Entry) -> bool:
    return bool(resolved(entry.content[:MAX_READ], moment(entry.happened_at)))
