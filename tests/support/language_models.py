"""A language model that a test has scripted, in this process."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from app.domain.errors import ModelAnswerRejected
from app.domain.json_types import Json
from app.ports.language_model import ModelMessage, Schema, Spent, Stage

T = TypeVar("T")
Answer: TypeAlias = "Json | Callable[[Sequence[ModelMessage]], Json]"
TOKENS = 100
"""What each call costs."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that was made."""

    stage: Stage
    messages: Sequence[ModelMessage]
    schema: str
    max_tokens: int
    affinity: str
    seconds: float | None


@dataclass
class ScriptedLanguageModel:
    """Answers each stage with what the script has for it, or by a function of the messages; fails when it is told to.

    Implements ``LanguageModel``. While ``waits`` is set, calls do not end.
    """

    answers: dict[Stage, Answer] = field(default_factory=dict)
    errors: dict[Stage, Exception] = field(default_factory=dict)
    waits: bool = False
    calls: list[Asked] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0

    def name(self, stage: Stage) -> str:
        return f"scripted/{stage}"

    async def complete(
        self,
        messages: Sequence[ModelMessage],
        schema: Schema[T],
        *,
        stage: Stage,
        max_tokens: int,
        affinity: str,
        seconds: float | None = None,
        spent: Callable[[Spent], None] | None = None,
    ) -> T:
        self.calls.append(Asked(stage, messages, schema.name, max_tokens, affinity, seconds))
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            await asyncio.sleep(0)
            while self.waits:
                await asyncio.sleep(0.001)
        finally:
            self.under_way -= 1
        if stage in self.errors:
            raise self.errors[stage]
        if spent is not None:
            spent(Spent(stage, self.name(stage), TOKENS))
        answer = self.answers[stage]
        try:
            return schema.read(answer(messages) if callable(answer) else answer)
        except ValueError as error:
            raise ModelAnswerRejected(f"{self.name(stage)} twice gave an answer that cannot be used.") from error

    async def ping(self) -> None:
        for error in self.errors.values():
            raise error

    def of(self, stage: Stage) -> list[Asked]:
        """Return the calls of a stage."""
        return [asked for asked in self.calls if asked.stage == stage]
