"""Answers the queries of a tenant's profiles with sentences of the memories that a recall finds."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

import structlog

from app.domain.errors import Unavailable
from app.domain.first_line import first_line
from app.domain.profile_answers import ProfileCandidate, ProfileRecall, ResponseLength, ThinkingLevel
from app.domain.query import Entry, Query
from app.retrieval.pool import Candidate
from app.services.answer.asking import Question, question
from app.services.answer.choosing import Ratings, answering, by_entry, to_rate, told
from app.services.answer.composing import SENTENCES, Answer, Former, compose
from app.services.answer.reading import Said
from app.services.backends import TenantBackends
from app.services.gateway import LongTermMemoryGateway
from app.services.recall import Analysing, Recall
from app.services.standing_in import told_once, with_messages

MIN_CONFIDENCE = 0.1
"""Where no memory scores as much and no reader is on, nothing on the query's subject is known, and there are no
candidates. Days are computed of what scores as much.

It does not hold where a channel is away: an outage is no empty answer."""
MIN_SCORE = 0.5
"""Without a reader the first memory is told if it scores as much, or states the value of a key that is asked for."""
QUOTED_FROM: Final[Mapping[ResponseLength, int]] = {"short": 5, "medium": 10, "long": 20}
"""Memories from which sentences are quoted."""

_READ_AT_ONCE = 16 * 1024
"""Characters of entries of which an answer is made in some milliseconds; of more it is made off the event loop."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a profile is asked."""

    query: str
    now: int
    """When it is asked, ms since the epoch."""
    reference_time: int | None = None
    as_of: int | None = None
    length: ResponseLength = "medium"
    thinking: ThinkingLevel = "low"
    explain: bool = False
    """Whether candidates tell what their score is made of."""

    def to_query(self, top_k: int, *, for_answer: bool) -> Query:
        """Return what the memory is asked, for so many entries."""
        return Query(
            self.query,
            top_k,
            reference_time=self.reference_time,
            as_of=self.as_of,
            collapse=True,
            explain=self.explain,
            for_model=True,
            for_answer=for_answer,
        )


class Answering:
    """Answers for one profile of a tenant with sentences of its memories."""

    def __init__(self, backends: TenantBackends, agent_id: str) -> None:
        """Bind the profile."""
        self._gateway = LongTermMemoryGateway(backends)
        self._reader = backends.reader
        self._agent_id = agent_id

    async def answer(self, asked: Asked) -> ProfileRecall:
        """Answer a query; raises as ``LongTermMemoryGateway.recall`` does."""
        recall = await self.recall(asked, QUOTED_FROM[asked.length])
        if is_nothing(recall):
            recall.answered_with(())
            return ProfileRecall("", [], recall.degraded)
        answer, degraded = await self.quoted(asked, recall)
        return recalled(answer, recall, [*recall.degraded, *degraded])

    async def recall(self, asked: Asked, top_k: int, analysing: Analysing | None = None) -> Recall:
        """Find the entries that answer a query best; with ``analysing``, those from which a language model answers."""
        query = asked.to_query(top_k, for_answer=analysing is not None)
        return with_messages(await self._gateway.recall(self._agent_id, query, analysing))

    async def quoted(self, asked: Asked, recall: Recall) -> tuple[Answer, Sequence[str]]:
        """Compose an answer of what the entries say that answer; return it, and what could not be asked for that."""
        best = told_once(replace(recall, entries=recall.entries[: QUOTED_FROM[asked.length]]), MIN_SCORE)
        tells = self._reader.thresholds.tells if self._reader is not None and recall.relevance else None
        asking = question(asked.query)
        sentences = await off_the_loop(best.entries, lambda: by_entry(answering(best, tells, MIN_SCORE), asking))
        ratings, degraded = await self._rated(asked.query, to_rate(sentences)) if tells is not None else ({}, [])
        chosen = told(sentences, ratings, 1.0 if tells is None else tells, SENTENCES[asked.length])
        return await off_the_loop(best.entries, partial(_composed, asked, asking, chosen, best)), degraded

    async def _rated(self, query: str, sentences: Sequence[Said]) -> tuple[Ratings, Sequence[str]]:
        """Have a reader rate sentences; without it, their words decide."""
        if self._reader is None or not sentences:
            return {}, []
        try:
            relevances = await self._reader.relevance(query, [said.context for said in sentences])
        except Unavailable as error:
            structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
            return {}, ["reader_unavailable"]
        return dict(zip(sentences, relevances, strict=True)), []


def is_nothing(recall: Recall) -> bool:
    """Tell whether nothing on the query's subject is known, as far as everything could be searched."""
    known = recall.keyed or recall.topical or recall.relevance or recall.degraded
    return recall.confidence < MIN_CONFIDENCE and not known


def recalled(answer: Answer, recall: Recall, degraded: Sequence[str]) -> ProfileRecall:
    """Return what a profile answers, with the memories that the answer may rest on."""
    recall.answered_with(entry.id for entry in recall.entries)
    return ProfileRecall(answer.text, [_candidate(each) for each in recall.entries], degraded, answer.cited)


async def off_the_loop(entries: Sequence[Entry], reading: Callable[[], _T]) -> _T:
    """Return what is read of entries; where they are long, the event loop goes on meanwhile."""
    is_long = sum(len(entry.content) for entry in entries) > _READ_AT_ONCE
    return await asyncio.to_thread(reading) if is_long else reading()


def formers_of(recall: Recall) -> Mapping[str, Sequence[Former]]:
    """Return by the id of an entry what held before it."""
    return {id_: [_former(one) for one in each] for id_, each in recall.formers.items()}


def _composed(asked: Asked, asking: Question, chosen: Sequence[Said], recall: Recall) -> Answer:
    likely = [entry for entry in recall.entries if entry.score >= MIN_CONFIDENCE]
    return compose(asking, chosen, likely, formers_of(recall), reference_time=asked.now, length=asked.length)


def _candidate(entry: Entry) -> ProfileCandidate:
    summary = first_line(entry.content)
    return ProfileCandidate(entry.id, summary, entry.session_id, entry.score, entry.happened_at, entry.findings)


def _former(candidate: Candidate) -> Former:
    until = candidate.happened_at if candidate.until is None else candidate.until
    speaker = candidate.metadata.get("speaker")
    return Former(candidate.content, candidate.happened_at, until, speaker if isinstance(speaker, str) else "")
