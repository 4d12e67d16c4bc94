"""Answers the queries of a tenant's profiles with sentences of the memories that a recall finds."""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from app.domain.profile_answers import ProfileRecall, ResponseLength, ThinkingLevel
from app.domain.query import Query
from app.services.answering.choosing import choice
from app.services.answering.composing import ComposedAnswer, compose
from app.services.answering.repetitions import with_former_statements, without_repetitions
from app.services.answering.standing import StandingInstructions
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.gathering import ANALYSIS_UNAVAILABLE
from app.services.memories.recall import Recall
from app.services.tenant.backends import TenantBackends
from app.services.turns.turns import off_the_loop

MIN_SCORE = 0.5
"""The score from which on the first memory is quoted without a reader."""
QUOTED_FROM: Final[Mapping[ResponseLength, int]] = {"short": 5, "medium": 10, "long": 20}
"""Memories from which sentences are quoted."""


@dataclass(frozen=True, slots=True)
class ProfileQuestion:
    """A question to a profile."""

    query: str
    now: int
    """When the question is asked, ms since the epoch."""
    reference_time: int | None = None
    as_of: int | None = None
    length: ResponseLength = "medium"
    thinking: ThinkingLevel = "low"
    explain: bool = False
    """Whether entries tell the parts of their score."""

    def to_query(self, top_k: int, *, for_answer: bool) -> Query:
        """Return the query of the recall, for ``top_k`` entries."""
        return Query(
            self.query,
            top_k,
            reference_time=self.reference_time,
            as_of=self.as_of,
            collapse="copies",
            explain=self.explain,
            for_model=True,
            for_answer=for_answer,
        )


class Answering:
    """Answers for one profile of a tenant with sentences of its memories."""

    def __init__(self, backends: TenantBackends, agent_id: str) -> None:
        """Bind the profile."""
        self._gateway = LongTermMemoryGateway(backends)
        self._reader = backends.models.reader
        self._agent_id = agent_id
        self._standing = StandingInstructions(backends, agent_id)

    async def answer(self, question: ProfileQuestion) -> ProfileRecall:
        """Answer a query; raises as ``LongTermMemoryGateway.recall`` does."""
        query = question.to_query(QUOTED_FROM[question.length], for_answer=False)
        recall = with_former_statements(await self._gateway.recall(self._agent_id, query))
        return await self._instructed(question, recall, self._answered(question, recall))

    async def _instructed(
        self, question: ProfileQuestion, recall: Recall, answering: Coroutine[Any, Any, ProfileRecall]
    ) -> ProfileRecall:
        """Return the answer from a recall, with the standing instructions beside it.

        There are no instructions where the question asks what held at another time. Raises as ``answering`` and the
        database do.
        """
        return await (answering if question.as_of is not None else self._standing.beside(recall, answering))

    async def _quoted(self, question: ProfileQuestion, recall: Recall) -> tuple[ComposedAnswer, Sequence[str]]:
        """Compose an answer of the entries' sentences; return it, and the codes of the services that did not answer."""
        best = without_repetitions(replace(recall, entries=recall.entries[: QUOTED_FROM[question.length]]), MIN_SCORE)
        chosen = await choice(question.query, best, self._reader, min_score=MIN_SCORE, now=question.now)
        composed = partial(compose, chosen.sentences, chosen.computed, best.formers, question.length)
        return await off_the_loop(best.entries, composed), chosen.degraded

    async def _answered(self, question: ProfileQuestion, recall: Recall) -> ProfileRecall:
        if is_nothing(recall):
            recall.answered_with(())
            return ProfileRecall("", [], recall.degraded, agent=recall.agent)
        answer, degraded = await self._quoted(question, recall)
        return recalled(answer, recall, [*recall.degraded, *degraded])


def is_nothing(recall: Recall) -> bool:
    """Tell whether all channels answered and no entry scores above zero; a missing analysis does not count."""
    away = set(recall.degraded) - {ANALYSIS_UNAVAILABLE}
    return not (away or any(entry.score > 0 for entry in recall.entries))


def recalled(answer: ComposedAnswer, recall: Recall, degraded: Sequence[str]) -> ProfileRecall:
    """Return a profile's answer, with the memories that the answer may rest on."""
    recall.answered_with(entry.id for entry in recall.entries)
    return ProfileRecall(answer.text, recall.entries, degraded, answer.cited, agent=recall.agent)
