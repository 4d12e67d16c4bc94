"""Tells a service the conversations, and asks it the questions."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    sessions: Mapping[str, str] = field(default_factory=dict)
    """The session of each turn of the conversation that has one."""

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


async def tell(service: Service, conversations: Sequence[Conversation], plan: Plan) -> list[Asked]:
    """Store every conversation, its turns in order, and wait until all is searched; raises ServiceFailed.

    Returns:
        The answers to the questions that are asked in between, each when what was told before it is searched.
    """

    async def told(conversation: Conversation) -> list[Asked]:
        name = namespace(plan.prefix, conversation.conv_id)
        asked: list[Asked] = []
        for number, memory in enumerate(conversation.memories):
            if now := [question for question in conversation.questions if question.told == number]:
                await service.ready(name)
                asked += [await _asked(service, conversation, question, plan) for question in now]
            await service.store(name, memory)
        await service.ready(name)
        return asked

    answers = await _in_parallel(conversations, told, plan.parallel)
    return [answer for of_one in answers for answer in of_one]


async def ask(service: Service, conversations: Sequence[Conversation], plan: Plan) -> list[Asked]:
    """Ask every conversation the questions that come when all is told, and those of others; raises ServiceFailed."""

    async def asked(conversation: Conversation) -> list[Asked]:
        own = [question for question in conversation.questions if question.told is None]
        others = foreign(conversations, conversation, plan.foreign)
        return [
            *[await _asked(service, conversation, question, plan) for question in own],
            *[await _asked(service, conversation, question, plan, is_foreign=True) for question in others],
        ]

    answers = await _in_parallel(conversations, asked, plan.parallel)
    return [answer for of_one in answers for answer in of_one]


async def _asked(
    service: Service, conversation: Conversation, question: Question, plan: Plan, *, is_foreign: bool = False
) -> Asked:
    name = namespace(plan.prefix, conversation.conv_id)
    at = conversation.asked_at if plan.told_when else None
    answer = await service.ask(name, question.text, TOP_K, at)
    return Asked(conversation.dataset, conversation.conv_id, question, answer, is_foreign, conversation.sessions)


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
