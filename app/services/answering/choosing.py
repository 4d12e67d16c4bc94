"""Chooses what an answer tells: sentences of memories that answer, as a reader finds, or else the first memory's."""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import structlog

from app.domain.errors import ReaderUnavailable
from app.domain.query import Entry
from app.domain.words import is_spaceless
from app.language.dates.asked import TimeAsked, time_asked
from app.language.dates.two_events import two_events
from app.retrieval.query.terms import terms
from app.services.answering.computing import Computed, computed, undated
from app.services.answering.matching import telling
from app.services.answering.reading import ReadableMemory, Said, read
from app.services.memories.recall import Recall
from app.services.models.reader import TenantReader

MAX_RATED = 16
"""Sentences of long memories that a reader rates for one answer."""
SURE_SCORE: Final = 0.3
SURE_SHARE: Final = 0.85
"""A memory without a session that comes first is told where its score reaches the one, and its relevance so much of
``tells``. The score has beside the relevance how far the memory is ahead of the others by words and vectors, so that
less relevance is enough. Both are set on the scenes that are kept aside, with the packaged weights of the reader and of
recalls: the most right answers, and no more wrong ones in all than by ``tells`` alone."""

_OF_TWO = 0.5
"""A sentence that tells one of the two days between which a length is asked for needs so much of the relevance."""
_STEM = 5
"""Letters by which a word of the query is known again."""
_NO_WORD = re.compile(r"\W+")
_READ_AT_ONCE = 16 * 1024
"""Characters of entries that are read in some milliseconds; more of them are read off the event loop."""

_T = TypeVar("_T")
_Sentences = Mapping[str, Sequence[Said]]
"""The sentences of entries by their ids, the best entry first."""
_Ratings = Mapping[Said, float]
"""How likely sentences answer, as a reader finds."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What an answer is made of."""

    told: Sequence[Said]
    """The best sentence of each memory that answers, in their order, and then others that do."""
    computed: Computed | None = None
    degraded: Sequence[str] = ()
    """What could not be asked for it."""


async def choice(query: str, recall: Recall, reader: TenantReader | None, *, min_score: float, now: int) -> Choice:
    """Choose of the entries of a recall what answers a query, which is asked ``now`` (ms since the epoch).

    Where a reader has read them it is the first one, if that is sure to answer, and what else reaches ``tells``. Else
    nothing tells whether a memory answers: it is the first one's sentence with most words of the query, where that
    memory scores ``min_score``.
    """
    if reader is not None and recall.relevance:
        return await _Chooser(query, recall, reader).choice(now)
    quotable = [one for one in recall.entries[:1] if one.score >= min_score]
    return Choice(_told(await _sentences(query, quotable), {}, 1.0))


class _Chooser:
    """Chooses for one query of the entries of a recall that a reader has read."""

    def __init__(self, query: str, recall: Recall, reader: TenantReader) -> None:
        self._query = query
        self._recall = recall
        self._reader = reader
        self._asked = time_asked(query)
        self._tells = reader.thresholds.tells
        self._answering = _answering(recall, self._tells)
        self._ids = {one.id for one in self._answering}

    async def choice(self, now: int) -> Choice:
        sentences = await _sentences(self._query, self._candidates())
        ratings = {each[0]: self._recall.relevance[id_] for id_, each in sentences.items() if len(each) == 1}
        found, degraded = None, list[str]()
        try:
            if chosen := _to_rate(sentences):
                relevances = await self._reader.relevance(self._query, [said.context for said in chosen])
                ratings |= zip(chosen, relevances, strict=True)
            if self._asked is not None:
                found = await self._computed(self._asked, sentences, ratings, now)
        except ReaderUnavailable as error:  # what is told of a memory that answers is then chosen by its words
            structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
            degraded.append(error.code)
        answers = {one.id: sentences[one.id] for one in self._answering if one.id in sentences}
        return Choice(_told(answers, ratings, self._tells), found, degraded)

    def _candidates(self) -> Sequence[Entry]:
        """Return the entries that answer, or that may tell the days that the query asks for.

        Each of two events is told by its words, whatever its relevance; else none is told where none answers.
        """
        if self._asked is None or (self._asked.form != "between" and not self._answering):
            return self._answering
        line = self._tells * _OF_TWO
        if self._asked.form != "between":
            return [one for one in self._recall.entries if one.id in self._ids or self._relevance(one) >= line]
        return self._recall.entries if two_events(self._query) is not None else _reaching(self._recall, line)

    async def _computed(self, asked: TimeAsked, sentences: _Sentences, ratings: _Ratings, now: int) -> Computed | None:
        """Return what the query asks for of time, as the sentences tell it that tell of that."""
        two = asked.form == "between"
        line = self._tells * _OF_TWO if two else self._tells
        best = _best(sentences, ratings, line)
        first = zip(sentences, best, strict=False)  # the best one of each memory comes before all others
        sure = {said for said in best if ratings.get(said, 0.0) >= line}
        sure |= {said for id_, said in first if not two and id_ in self._ids}
        choosing = partial(telling, asked, self._query, best, sure, self._former_ids())
        told = await off_the_loop([said.memory for said in best], choosing)
        happened = await _happened(told.all, self._reader)
        computing = partial(computed, asked, self._query, told, happened, now)
        return await off_the_loop([said.memory for said in told.all], computing)

    def _former_ids(self) -> Mapping[str, Collection[str]]:
        formers = self._recall.formers
        return {one.id: {former.id for former in formers.get(one.id, ()) if former.id} for one in self._recall.entries}

    def _relevance(self, entry: Entry) -> float:
        return self._recall.relevance.get(entry.id, 0.0)


async def off_the_loop(entries: Sequence[ReadableMemory], reading: Callable[[], _T]) -> _T:
    """Return what is read of entries; where they are long, the event loop goes on meanwhile."""
    is_long = sum(len(entry.content) for entry in entries) > _READ_AT_ONCE
    return await asyncio.to_thread(reading) if is_long else reading()


def _answering(recall: Recall, tells: float) -> Sequence[Entry]:
    """Return the first entry and those whose relevance reaches a line; none where the first is not sure to answer.

    What is told is what comes first.
    """
    if not recall.entries or not _is_sure(recall, recall.entries[0], tells):
        return []
    others = [one for one in recall.entries[1:] if recall.relevance.get(one.id, 0.0) >= tells]
    return _not_outdated(recall, [recall.entries[0], *others])


def _is_sure(recall: Recall, first: Entry, tells: float) -> bool:
    """Tell whether the first entry is sure enough to answer that it is told; in a session the relevance alone tells."""
    relevance = recall.relevance.get(first.id, 0.0)
    if first.session_id is not None:
        return relevance >= tells
    return relevance >= SURE_SHARE * tells and first.score >= SURE_SCORE


def _reaching(recall: Recall, line: float) -> Sequence[Entry]:
    """Return the entries whose relevance reaches a line; none where the first is not one of them."""
    found = [one for one in recall.entries if recall.relevance.get(one.id, 0.0) >= line]
    return _not_outdated(recall, found) if found[:1] == list(recall.entries[:1]) else []


def _not_outdated(recall: Recall, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Leave out of entries what held before another of them."""
    outdated = {former.id for entry in entries for former in recall.formers.get(entry.id, ())}
    return [one for one in entries if one.id not in outdated]


async def _sentences(query: str, entries: Sequence[Entry]) -> _Sentences:
    return await off_the_loop(entries, partial(_by_entry, query, entries))


def _by_entry(query: str, entries: Sequence[Entry]) -> _Sentences:
    """Return the sentences of each entry that has any, those first that have more words of the query."""
    words = {word[:_STEM] for term in terms(query) for word in term.text.split()}
    asked = [word if is_spaceless(word) else f" {word}" for word in words]

    def order(said: Said) -> tuple[bool, int, int]:
        text = f" {_NO_WORD.sub(' ', said.text.lower())}"
        return said.asks, -sum(word in text for word in asked), said.place

    found = {entry.id: sorted(read(entry), key=order) for entry in entries}
    return {id_: each for id_, each in found.items() if each}


def _to_rate(sentences: _Sentences) -> Sequence[Said]:
    """Return the sentences that are rated: the first ones of each memory that has several."""
    long = [each for each in sentences.values() if len(each) > 1][:MAX_RATED]
    most = MAX_RATED // max(len(long), 1)
    return [said for each in long for said in each[:most]]


def _best(sentences: _Sentences, ratings: _Ratings, line: float) -> Sequence[Said]:
    """Return the best sentence of each memory, and then others that reach a line.

    A memory that answers has a sentence that is told, though none of them may do so alone.
    """
    ordered = [sorted(each, key=lambda said: -ratings.get(said, 0.0)) for each in sentences.values()]
    others = [said for each in ordered for said in each[1:] if ratings.get(said, 0.0) >= line]
    return [*(each[0] for each in ordered), *others]


def _told(sentences: _Sentences, ratings: _Ratings, line: float) -> Sequence[Said]:
    """Return the same, each text once."""
    by_text: dict[str, Said] = {}
    for said in _best(sentences, ratings, line):
        by_text.setdefault(said.text, said)
    return list(by_text.values())


async def _happened(sentences: Sequence[Said], reader: TenantReader) -> Collection[Said]:
    """Return the sentences of what happened on the days of their memories."""
    without = await off_the_loop([said.memory for said in sentences], partial(undated, sentences))
    kinds = await reader.kinds([said.text for said in without]) if without else []
    return {said for said, kind in zip(without, kinds, strict=True) if kind.name == "event"}
