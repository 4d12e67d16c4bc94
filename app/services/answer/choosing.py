"""Chooses what an answer tells: sentences of memories that answer, as a reader finds, or else as a recall scores."""

from collections.abc import Mapping, Sequence

from app.domain.query import Entry
from app.services.answer.asking import Question
from app.services.answer.reading import Said, read
from app.services.answer.wording import Stems
from app.services.recall import Recall

MAX_RATED = 16
"""Sentences of long memories that a reader rates for one answer."""

Ratings = Mapping[Said, float]
"""How likely sentences answer, as a reader finds."""


def answering(recall: Recall, tells: float | None, min_score: float) -> Sequence[Entry]:
    """Return the entries that answer, best first; none where the first one does not: what is told is what comes first.

    With a reader they are those whose relevance is at least ``tells``, but for those whose place another of them has
    taken. Without, nothing tells whether a memory answers, and it is the first one where it scores ``min_score``, or
    states what the query asks for by its key.
    """
    first = recall.entries[:1]
    if tells is None:
        return [one for one in first if one.score >= min_score or one.id in recall.keyed]
    if not any(recall.relevance.get(one.id, 0.0) >= tells for one in first):
        return []
    found = [one for one in recall.entries if recall.relevance.get(one.id, 0.0) >= tells]
    outdated = {former.id for entry in found for former in recall.formers.get(entry.id, ())}
    return [one for one in found if one.id not in outdated]


def by_entry(entries: Sequence[Entry], asked: Question) -> Sequence[Sequence[Said]]:
    """Return the sentences of each entry that has any, those first that have more words of the question."""
    stems = Stems(asked.wording)
    found = [read(entry, stems, asked.wording.code, entry.score) for entry in entries]
    return [
        sorted(each, key=lambda said: (said.asks, -len(said.words & asked.stems), said.place)) for each in found if each
    ]


def to_rate(sentences: Sequence[Sequence[Said]]) -> Sequence[Said]:
    """Return the sentences that are rated: the first ones of each memory that has several."""
    long = [each for each in sentences if len(each) > 1][:MAX_RATED]
    most = MAX_RATED // max(len(long), 1)
    return [said for each in long for said in each[:most]]


def told(sentences: Sequence[Sequence[Said]], ratings: Ratings, tells: float, most: int) -> Sequence[Said]:
    """Return the sentences that are told: the best of each memory, in their order, and then others that answer.

    A memory that answers has a sentence that is told, though none of them may do so alone.
    """
    ordered = [sorted(each, key=lambda said: -ratings.get(said, 0.0)) for each in sentences]
    best = [each[0] for each in ordered]
    others = [said for each in ordered for said in each[1:] if ratings.get(said, 0.0) >= tells]
    return list({said.text: said for said in reversed([*best, *others])}.values())[::-1][:most]
