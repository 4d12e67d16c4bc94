"""Answers the queries of a tenant's profiles, and sums profiles up, by a language model whose answers are checked."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from app.domain.errors import ReaderUnavailable
from app.domain.limits import MAX_CANDIDATES
from app.domain.memory import Memory, Scope
from app.domain.profile_answers import UNGROUNDED, ProfileRecall, ProfileSummary, ThinkingLevel
from app.language.dates.questions import time_question
from app.services.answering.answerer import MIN_SCORE, Answering, ProfileQuestion, is_nothing, recalled
from app.services.answering.choosing import choice
from app.services.answering.composing import ComposedAnswer
from app.services.answering.repetitions import with_former_statements
from app.services.answering.summary import summary, written
from app.services.learning.evidence import Evidence, evidence
from app.services.learning.synthesising import (
    ANSWER_TOKENS,
    SUMMARY_TOKENS,
    Grounded,
    Sentences,
    Synthesised,
    cited,
    grounded,
    summarising,
    synthesis,
)
from app.services.memories.recall import Recall
from app.services.memories.recall_model import RecallModel
from app.services.models.language_model import TenantLanguageModel
from app.services.tenant.agent_database import AgentDatabase
from app.services.tenant.backends import TenantBackends
from app.services.turns.turns import off_the_loop
from app.storage.learned_of import outdated_sources

CANDIDATES: Final[Mapping[ThinkingLevel, int]] = {"low": 10, "medium": 20, "high": MAX_CANDIDATES}
"""Memories from which a model answers."""
READER_UNAVAILABLE: Final = "reader_unavailable"
_SUMMED = 1_000
"""Characters of a memory that are summed up."""


@dataclass(frozen=True, slots=True)
class _ModelInput:
    """The memories and the computed facts that a model is given."""

    evidence: Sequence[Evidence]
    facts: Sequence[str]


class ModelAnswering(Answering):
    """Answers for one profile of a tenant by a language model.

    A recall never fails because of the model. Where the model's answer does not follow from the memories, the recall
    is answered with their sentences, and ``degraded`` says why.
    """

    def __init__(self, backends: TenantBackends, agent_id: str, model: TenantLanguageModel) -> None:
        """Bind the profile and the tenant's model."""
        super().__init__(backends, agent_id)
        self._backends = backends
        self._scope = Scope(backends.tenant_id, agent_id)
        self._model = model

    async def answer(self, question: ProfileQuestion) -> ProfileRecall:
        """Answer a query; raises as ``LongTermMemoryGateway.recall`` does."""
        model = self._recall_model()
        query = question.to_query(CANDIDATES[question.thinking], for_answer=True)
        async with model.analysing(question.query, question.now) as analysing:
            recall = with_former_statements(await self._gateway.recall(self._agent_id, query, analysing))
        return await self._instructed(question, recall, self._written(question, recall, model))

    async def _written(self, question: ProfileQuestion, recall: Recall, model: RecallModel) -> ProfileRecall:
        degraded = recall.degraded
        if is_nothing(recall):
            recall.answered_with(())
            return ProfileRecall("", [], degraded, agent=recall.agent)
        writing = partial(evidence, recall.entries, recall.formers, reference_time=question.now)
        given = _ModelInput(await off_the_loop(recall.entries, writing), await self._facts(question, recall))
        request = synthesis(question.query, given.evidence, given.facts, question.length, model.mark, now=question.now)
        answer = await model.answer(request)
        if isinstance(answer, str):
            return await self._quoted_instead(question, recall, [*degraded, answer])
        if not answer.sentences:
            return recalled(ComposedAnswer(), recall, degraded)  # the memories do not answer it
        checked = await self._checked(question, recall, answer, given)
        if isinstance(checked, str):
            return await self._quoted_instead(question, recall, [*degraded, checked])
        ids = [given.evidence[number - 1].memory_id for number in checked.numbers]
        return replace(recalled(ComposedAnswer(), recall, degraded), answer=checked.text, cited=ids)

    async def _quoted_instead(
        self, question: ProfileQuestion, recall: Recall, degraded: Sequence[str]
    ) -> ProfileRecall:
        answer, unread = await self._quoted(question, recall)
        return recalled(answer, recall, list(dict.fromkeys([*degraded, *unread])))

    async def summary(self, memories: Sequence[Memory], now: int) -> ProfileSummary:
        """Sum up memories, the newest first; a sentence that does not follow from the memories is dropped."""
        model = self._recall_model()
        summed = await self._without_messages(memories)
        lines = await asyncio.to_thread(evidence, summed, {}, reference_time=now, most=_SUMMED, labels=_types(summed))
        if not lines:
            return ProfileSummary("")
        answer = await model.answer(summarising(lines, model.mark, now=now))
        if not isinstance(answer, str):
            sentences = await asyncio.to_thread(cited, answer, lines, (), now=now)
            checked = await self._grounded(sentences, SUMMARY_TOKENS)
            if not isinstance(checked, str):
                return ProfileSummary(_in_sections(checked, summed))
            answer = checked
        text = await asyncio.to_thread(summary, summed)
        return ProfileSummary(text, [answer])

    async def _without_messages(self, memories: Sequence[Memory]) -> Sequence[Memory]:
        """Leave out the messages from which one of the memories was learned, or from which an outdated memory was."""
        stale = {message for memory in memories if memory.learned is not None for message in memory.learned.message_ids}
        others = [
            memory.message_id for memory in memories if memory.message_id is not None and memory.message_id not in stale
        ]
        if others:
            database = AgentDatabase(self._backends, self._scope.agent_id)
            (rows,) = await database.run([outdated_sources(self._scope, others)])
            stale.update(str(row["message_id"]) for row in rows)
        return [memory for memory in memories if memory.message_id not in stale]

    def _recall_model(self) -> RecallModel:
        return RecallModel(self._backends, self._scope.agent_id, self._model)

    async def _facts(self, question: ProfileQuestion, recall: Recall) -> Sequence[str]:
        """Return the answer computed of days, as sentences; none where the query or the entries give no such answer."""
        if time_question(question.query) is None:
            return []
        chosen = await choice(question.query, recall, self._reader, min_score=MIN_SCORE, now=question.now)
        return chosen.computed.facts if chosen.computed else []

    async def _checked(
        self, question: ProfileQuestion, recall: Recall, answer: Synthesised, given: _ModelInput
    ) -> Grounded | str:
        checking = partial(cited, answer, given.evidence, given.facts, now=question.now)
        return await self._grounded(await off_the_loop(recall.entries, checking), ANSWER_TOKENS[question.length])

    async def _grounded(self, sentences: Sentences, most: int) -> Grounded | str:
        """Return the sentences that follow from their memories, or the code of why there are none."""
        try:
            found = await grounded(sentences, self._backends.models.reader, max_tokens=most)
        except ReaderUnavailable as error:
            structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
            return READER_UNAVAILABLE
        return found if found.sentences else UNGROUNDED


def _types(memories: Sequence[Memory]) -> Mapping[str, str]:
    return {memory.id: memory.type for memory in memories if memory.type is not None}


def _in_sections(checked: Grounded, memories: Sequence[Memory]) -> str:
    """Write sentences as a summary: each in the section, and with the day, of the first memory that it cites."""
    return written((memories[sentence.memories[0] - 1], sentence.text) for sentence in checked.sentences)
