"""Tells a service the conversations, and asks it the questions."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from bench.quality.dataset import Conversation, Question
from bench.quality.scores import TOP_K
from bench.quality.service import Answer, Service

T = TypeVar("T")

_NAMESPACE_LONGEST = 64
_DIGEST = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, whom it was put to, and what came back."""

    dataset: str
    conv_id: str
    question: Question
    answer: Answer
    foreign: bool = False
    """Whether it belongs to another conversation, so that nothing there answers it."""

    @property
    def answerable(self) -> bool:
        """Whether evidence is there to be found."""
        return bool(self.question.gold) and not self.foreign


@dataclass(frozen=True, slots=True)
class Plan:
    """How the conversations are told and asked."""

    prefix: str
    """Begins every namespace, so that two runs on one service do not meet."""
    parallel: int = 4
    """Conversations that are under way at once."""
    foreign: int = 0
    """Questions of other conversations that each one is asked."""
    told_when: bool = False
    """Whether the service is told when a question is asked, where the data say it."""


async def tell(service: Service, conversations: Sequence[Conversation], plan: Plan) -> None:
    """Store every conversation, its turns in order, and wait until all is searched; raises ServiceFailed."""

    async def told(conversation: Conversation) -> None:
        name = namespace(plan.prefix, conversation.conv_id)
        for memory in conversation.memories:
            await service.store(name, memory)
        await service.ready(name)

    await _in_parallel(conversations, told, plan.parallel)


async def ask(service: Service, conversations: Sequence[Conversation], plan: Plan) -> list[Asked]:
    """Ask every conversation its questions and those of others; raises ServiceFailed."""

    async def asked(conversation: Conversation) -> list[Asked]:
        name = namespace(plan.prefix, conversation.conv_id)
        at = conversation.asked_at if plan.told_when else None
        own = [(question, False) for question in conversation.questions]
        others = [(question, True) for question in foreign(conversations, conversation, plan.foreign)]
        return [
            Asked(
                conversation.dataset,
                conversation.conv_id,
                question,
                await service.ask(name, question.text, TOP_K, at),
                foreign=is_foreign,
            )
            for question, is_foreign in [*own, *others]
        ]

    answers = await _in_parallel(conversations, asked, plan.parallel)
    return [answer for of_one in answers for answer in of_one]


def foreign(conversations: Sequence[Conversation], asked: Conversation, count: int) -> list[Question]:
    """Choose questions that have their evidence in other conversations of the same data set, always the same."""
    others = [
        question
        for conversation in conversations
        if conversation.dataset == asked.dataset and conversation.conv_id != asked.conv_id
        for question in conversation.questions
        if question.gold
    ]
    return Random(asked.conv_id).sample(others, min(count, len(others)))


def namespace(prefix: str, conv_id: str) -> str:
    """Return a name that every service takes for an agent: letters, digits, dots and dashes, at most 64."""
    name = f"{prefix}.{conv_id}"
    plain = re.sub(r"[^A-Za-z0-9.-]", "-", name)
    if plain == name and len(name) <= _NAMESPACE_LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{plain[: _NAMESPACE_LONGEST - _DIGEST - 1]}-{digest}"


async def _in_parallel(
    conversations: Sequence[Conversation], work: Callable[[Conversation], Awaitable[T]], parallel: int
) -> list[T]:
    gate = asyncio.Semaphore(parallel)

    async def gated(conversation: Conversation) -> T:
        async with gate:
            return await work(conversation)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(gated(conversation)) for conversation in conversations]
    except ExceptionGroup as failed:  # conversations under way at once fail alike: the first says it
        raise failed.exceptions[0] from failed
    return [task.result() for task in tasks]
