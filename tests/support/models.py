"""A language model that answers as a test tells it, by stage."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.domain.errors import ModelAnswerRejected, UpstreamTimeout
from app.domain.json_types import Json
from app.ports.language_model import ModelMessage, Schema, Spent, Stage

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """What a model was asked."""

    stage: Stage
    system: str
    user: str
    max_tokens: int
    affinity: str
    seconds: float | None

    def between(self, title: str) -> str:
        """Return what stands between the fences of this title."""
        found = re.search(rf"^<<<(\S+) {title}\n(.*?)\n?^\1>>>", self.user, re.DOTALL | re.MULTILINE)
        return "" if found is None else found[2]


@dataclass
class ScriptedModel:
    """Answers by stage with an object, with what a function makes of the call, or with an error. Implements the port.

    A stage of which nothing is said analyses to nothing, and answers that nothing is known.
    """

    answers: dict[str, Any] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)
    """Seconds that a stage takes."""
    calls: list[Call] = field(default_factory=list)

    def name(self, stage: Stage) -> str:
        return f"scripted {stage}"

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
        system, user = (message.content for message in messages)
        call = Call(stage, system, user, max_tokens, affinity, seconds)
        self.calls.append(call)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.sleep(self.delays.get(stage, 0.0))
        except TimeoutError as error:
            raise UpstreamTimeout("The model did not answer in time.") from error
        answer = self.answers.get(stage, _NOTHING[stage])
        if isinstance(answer, Exception):
            raise answer
        if spent is not None:
            spent(Spent(stage, self.name(stage), len(system) + len(user)))
        try:
            return schema.read(answer(call) if callable(answer) else answer)
        except ValueError as error:
            raise ModelAnswerRejected(str(error)) from error

    async def ping(self) -> None:
        """Answer."""


_NOTHING: Mapping[str, Json] = {
    "analyse": {"topics": [], "synonyms": [], "statement": ""},
    "synthesise": {"sentences": []},
}


def analysis(*, topics: Sequence[str] = (), synonyms: Sequence[str] = (), statement: str = "") -> Json:
    """Return the answer of the stage ``analyse``."""
    return {"topics": list(topics), "synonyms": list(synonyms), "statement": statement}


def answer(*sentences: tuple[str, Sequence[int]]) -> Json:
    """Return the answer of the stage ``synthesise``: sentences with the numbers of the memories that they cite."""
    return {"sentences": [{"text": text, "memories": list(numbers)} for text, numbers in sentences]}
