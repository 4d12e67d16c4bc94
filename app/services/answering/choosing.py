"""Chooses the sentences of an answer: those of memories that a reader finds to answer, or else the first memory's."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from app.domain.errors import ReaderUnavailable
from app.domain.query import Entry
from app.domain.words import is_spaceless
from app.language.dates.questions import TimeQuestion, time_question
from app.language.dates.two_events import two_events
from app.retrieval.query.terms import terms
from app.services.answering.computing import ComputedAnswer, compute, undated
from app.services.answering.matching import EventMatcher
from app.services.learning.reading import MemorySentence, read
from app.services.memories.recall import Recall
from app.services.models.reader import TenantReader
from app.services.turns.turns import off_the_loop

MAX_RATED = 16
"""Sentences of long memories that a reader rates for one answer."""
SURE_SCORE: Final = 0.3
SURE_SHARE: Final = 0.85
"""A first memory without a session answers where its score reaches ``SURE_SCORE``, and its relevance ``SURE_SHARE`` of
``tells``. The score counts beside the relevance how far the memory is ahead of the others by words and vectors, so that
less relevance is enough. Both are set on the scenes that are kept aside, with the packaged weights of the reader and of
recalls: they give the most right answers, and no more wrong answers in all than ``tells`` alone gives."""

_OF_TWO = 0.5
"""The share of ``tells`` that a sentence's relevance needs where the sentence tells one of the two days of a length."""
_STEM = 5
"""Letters of the beginning of a query's word by which a sentence is searched for it."""
_NO_WORD = re.compile(r"\W+")
_Sentences = Mapping[str, Sequence[MemorySentence]]
"""The sentences of entries by their ids, the best entry first."""
_Ratings = Mapping[MemorySentence, float]
"""The likelihood, by a reader, that each sentence answers."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The sentences and the computed answer of which an answer is composed."""

    sentences: Sequence[MemorySentence]
    """The best sentence of each memory that answers, in the memories' order, and then other sentences that answer."""
    computed: ComputedAnswer | None = None
    degraded: Sequence[str] = ()
    """The codes of the services that did not answer."""


async def choice(query: str, recall: Recall, reader: TenantReader | None, *, min_score: float, now: int) -> Choice:
    """Choose the sentences of a recall's entries that answer a query, which is asked ``now`` (ms since the epoch).

    Where a reader has read the entries, they are sentences of the first entry, if that is sure to answer, and of the
    entries whose relevance reaches ``tells``. Else it is the first entry's sentence with most words of the query, where
    that entry scores ``min_score``: without a reader nothing tells whether a memory answers.
    """
    if reader is not None and recall.relevance:
        return await _Chooser(query, recall, reader).choice(now)
    quotable = [entry for entry in recall.entries[:1] if entry.score >= min_score]
    return Choice(_once(_best(await _sentences(query, quotable), {}, 1.0)))


class _Chooser:
    """Chooses for one query of the entries of a recall that a reader has read."""

    def __init__(self, query: str, recall: Recall, reader: TenantReader) -> None:
        self._query = query
        self._recall = recall
        self._reader = reader
        self._time_question = time_question(query)
        self._tells = reader.thresholds.tells
        self._answering = self._reaching(self._tells) if self._is_sure() else []
        self._ids = {entry.id for entry in self._answering}

    async def choice(self, now: int) -> Choice:
        sentences = await _sentences(self._query, self._candidates())
        ratings = {own[0]: self._recall.relevance[id_] for id_, own in sentences.items() if len(own) == 1}
        computed, degraded = None, list[str]()
        try:
            if rated := _to_rate(sentences):
                relevances = await self._reader.relevance(self._query, [sentence.context for sentence in rated])
                ratings |= zip(rated, relevances, strict=True)
            if self._time_question is not None:
                computed = await self._computed(self._time_question, sentences, ratings, now)
        except ReaderUnavailable as error:  # the sentence of a memory that answers is then chosen by its words
            structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
            degraded.append(error.code)
        answers = {entry.id: sentences[entry.id] for entry in self._answering if entry.id in sentences}
        return Choice(_once(_best(answers, ratings, self._tells)), computed, degraded)

    def _candidates(self) -> Sequence[Entry]:
        """Return the entries that answer, or that may tell the days that the query asks for.

        For two events these are all entries, since words tell each event, whatever the relevance. Else there are none
        where no entry answers; for a length between two days the first entry needs ``_OF_TWO`` of ``tells``.
        """
        if self._time_question is None or (self._time_question.form != "between" and not self._answering):
            return self._answering
        line = self._tells * _OF_TWO
        if self._time_question.form != "between":
            return [one for one in self._recall.entries if one.id in self._ids or self._relevance(one) >= line]
        if two_events(self._query) is not None:
            return self._recall.entries
        is_first = any(self._relevance(entry) >= line for entry in self._recall.entries[:1])
        return self._reaching(line) if is_first else []

    async def _computed(
        self, time_question: TimeQuestion, sentences: _Sentences, ratings: _Ratings, now: int
    ) -> ComputedAnswer | None:
        """Return the time that the query asks for, computed from the sentences that tell of its events."""
        of_two = time_question.form == "between"
        line = self._tells * _OF_TWO if of_two else self._tells
        best = _best(sentences, ratings, line)
        first = zip(sentences, best, strict=False)  # the best sentence of each memory comes before all others
        sure = {sentence for sentence in best if ratings.get(sentence, 0.0) >= line}
        sure |= {sentence for id_, sentence in first if not of_two and id_ in self._ids}
        formers = {id_: {former.id for former in own if former.id} for id_, own in self._recall.formers.items()}
        matching = partial(EventMatcher(best, sure, formers).of_question, self._query, time_question)
        matched = await off_the_loop([sentence.memory for sentence in best], matching)
        happened = await _happened(matched.all, self._reader)
        computing = partial(compute, time_question, self._query, matched, happened, now)
        return await off_the_loop([sentence.memory for sentence in matched.all], computing)

    def _is_sure(self) -> bool:
        """Tell whether the first entry is sure enough to answer; in a session the relevance alone counts."""
        if not self._recall.entries:
            return False
        first = self._recall.entries[0]
        if first.session_id is not None:
            return self._relevance(first) >= self._tells
        return self._relevance(first) >= SURE_SHARE * self._tells and first.score >= SURE_SCORE

    def _reaching(self, line: float) -> Sequence[Entry]:
        """Return the first entry and those whose relevance reaches a line, without former memories of any of these."""
        first, *others = self._recall.entries
        reaching = [first, *(entry for entry in others if self._relevance(entry) >= line)]
        outdated = {former.id for entry in reaching for former in self._recall.formers.get(entry.id, ())}
        return [entry for entry in reaching if entry.id not in outdated]

    def _relevance(self, entry: Entry) -> float:
        return self._recall.relevance.get(entry.id, 0.0)


async def _sentences(query: str, entries: Sequence[Entry]) -> _Sentences:
    return await off_the_loop(entries, partial(_by_entry, query, entries))


def _by_entry(query: str, entries: Sequence[Entry]) -> _Sentences:
    """Return the sentences of each entry that has any: statements first, then by the number of the query's words."""
    words = {word[:_STEM] for term in terms(query) for word in term.text.split()}
    time_question = [word if is_spaceless(word) else f" {word}" for word in words]

    def order(sentence: MemorySentence) -> tuple[bool, int, int]:
        text = f" {_NO_WORD.sub(' ', sentence.text.lower())}"
        return sentence.asks, -sum(word in text for word in time_question), sentence.place

    found = {entry.id: sorted(read(entry), key=order) for entry in entries}
    return {id_: match for id_, match in found.items() if match}


def _to_rate(sentences: _Sentences) -> Sequence[MemorySentence]:
    """Return the sentences that are rated: the first sentences of each memory that has several."""
    long = [each for each in sentences.values() if len(each) > 1][:MAX_RATED]
    most = MAX_RATED // max(len(long), 1)
    return [sentence for each in long for sentence in each[:most]]


def _best(sentences: _Sentences, ratings: _Ratings, line: float) -> Sequence[MemorySentence]:
    """Return the best sentence of each memory, and then other sentences whose rating reaches a line.

    The best sentence of a memory that answers is told, even where no sentence answers alone.
    """
    ordered = [sorted(each, key=lambda sentence: -ratings.get(sentence, 0.0)) for each in sentences.values()]
    others = [sentence for each in ordered for sentence in each[1:] if ratings.get(sentence, 0.0) >= line]
    return [*(each[0] for each in ordered), *others]


def _once(sentences: Sequence[MemorySentence]) -> Sequence[MemorySentence]:
    """Return the first sentence of each text."""
    by_text: dict[str, MemorySentence] = {}
    for sentence in sentences:
        by_text.setdefault(sentence.text, sentence)
    return list(by_text.values())


async def _happened(sentences: Sequence[MemorySentence], reader: TenantReader) -> Collection[MemorySentence]:
    """Return the sentences that tell events which happened on the days of their memories."""
    without = await off_the_loop([sentence.memory for sentence in sentences], partial(undated, sentences))
    kinds = await reader.kinds([sentence.text for sentence in without]) if without else []
    return {sentence for sentence, kind in zip(without, kinds, strict=True) if kind.name == "event"}
