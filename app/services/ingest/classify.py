"""The stage in which a language model gives proposals their type, their topic and the questions that they answer."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from app.domain.claim import MemoryType
from app.domain.errors import QuotaExceeded, Unavailable
from app.domain.learned import Proposal
from app.domain.words import WORD, folded
from app.services.ingest.grounded import grounded_queries, grounded_topic
from app.services.ingest.work import IngestionWork
from app.services.learning import classifying
from app.services.learning.classifying import classification
from app.services.models.model_calls import ModelCalls
from app.services.models.reader import TenantReader
from app.storage.learning import KeptProposal, KnownTopic, kept_proposals, known_topics

SHOWN = 20
"""Topics that the model may pick from, at most."""
_WORD = re.compile(WORD)
_MAX_WORDS, _SHORTEST_WORD = 100, 3
"""Bounds of the words by which topics near to proposals are found: their number, and their letters at least."""


class Classify:
    """Has the proposals of an ingestion classified, in batches. Implements ``Stage``.

    The calls are made one after another: each call is shown the topics that the calls before it gave.
    """

    async def run(self, work: IngestionWork) -> None:
        """Classify the waiting proposals; where the model does not answer, a batch has failed and the others go on."""
        if not work.learns:
            return
        while True:
            work.check_held()
            (rows,) = await work.run([work.learning.verified(classified=False, most=classifying.AT_ONCE)])
            batch = kept_proposals(rows)
            if not batch:
                return
            topics = await _topics(work, batch)
            try:
                found = await classified(work.model, batch, topics, work.backends.models.reader)
            except (QuotaExceeded, Unavailable) as error:
                found = [replace(proposal, state="failed", reason=error.code) for proposal in batch]
            await work.run([work.learning.settle(found)])


async def _topics(work: IngestionWork, batch: Sequence[KeptProposal]) -> list[str]:
    profile, given = await work.run(work.learning.topics(words_of(batch), most=SHOWN))
    return nearest(known_topics(given), known_topics(profile))


def words_of(batch: Sequence[KeptProposal]) -> list[str]:
    """Return the words by which topics near to proposals are found."""
    words = (word for proposal in batch for word in _WORD.findall(folded(proposal.content)))
    return list(dict.fromkeys(word for word in words if len(word) >= _SHORTEST_WORD))[:_MAX_WORDS]


def nearest(given: Sequence[KnownTopic], profile: Sequence[KnownTopic]) -> list[str]:
    """Return the topics that the model is shown; up to half of them are topics that it has just given."""
    just_given = [topic.topic for topic in given[: SHOWN // 2]]
    return list(dict.fromkeys([*just_given, *(topic.topic for topic in profile)]))[:SHOWN]


async def classified(
    model: ModelCalls, batch: Sequence[KeptProposal], topics: Sequence[str], reader: TenantReader | None
) -> list[KeptProposal]:
    """Return proposals with the type, topic and questions that the model gives them.

    Where the model says nothing of a proposal, the reader gives its type. Raises as ``ModelCalls.ask`` does.
    """
    proposals = [proposal.proposal for proposal in batch]
    answer = await model.ask(lambda mark: classification(proposals, topics, mark))
    kinds = await _kinds(reader, proposals, classifying.unsaid(answer, proposals))
    return await asyncio.to_thread(_grounded, batch, classifying.classified(answer, proposals, kinds), topics)


async def _kinds(
    reader: TenantReader | None, proposals: Sequence[Proposal], numbers: Sequence[int]
) -> Mapping[int, MemoryType]:
    """Return the types that the reader gives the proposals of these numbers; nothing without a reader's answer."""
    if reader is None or not numbers:
        return {}
    try:
        kinds = await reader.kinds([proposals[number - 1].content for number in numbers])
    except Unavailable as error:
        structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
        return {}
    return {number: kind.name for number, kind in zip(numbers, kinds, strict=True)}


def _grounded(batch: Sequence[KeptProposal], found: Sequence[Proposal], topics: Sequence[str]) -> list[KeptProposal]:
    """Return proposals as they were classified, without topics and questions that name what the proposal does not."""
    return [
        replace(
            proposal,
            happened_at=made.happened_at,
            type=made.type,
            topic=made.topic if made.topic in topics else grounded_topic(made.topic, proposal.content),
            search_queries=grounded_queries(made.search_queries, proposal.content),
        )
        for proposal, made in zip(batch, found, strict=True)
    ]
