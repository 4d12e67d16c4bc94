"""A language model in this process that answers by a script: honestly, unless a test says otherwise."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.domain.errors import MemoryGatewayError, ModelAnswerRejected, Unavailable
from app.ports.language_model import ModelMessage, Schema, Spent, Stage

T = TypeVar("T")
Answer = Callable[[str], Any]
"""Takes what stands between the fences, and returns the answer, or raises what the service does."""

_LINE = re.compile(r"^\[(\d+)\] \S+ \w+, (\w+)( \(read before\))?: (.*)$", re.MULTILINE)
_MEMORY = re.compile(r"^\((\d+)\) (?:from \[.*?\]: )?(.*)$", re.MULTILINE)
_TOPICS = re.compile(r"<<<\w+ topics\n(.*?)\n\w+>>>", re.DOTALL)
_WORD = re.compile(r"\w+")


def lines_of(text: str) -> list[tuple[int, str, bool, str]]:
    """Return number, role, whether it was read before, and text of each line of a transcript."""
    return [(int(number), role, bool(before), said) for number, role, before, said in _LINE.findall(text)]


def memories_of(text: str) -> list[tuple[int, str]]:
    """Return number and content of each proposal that is asked about."""
    return [(int(number), content) for number, content in _MEMORY.findall(text)]


def topics_of(text: str) -> list[str]:
    """Return the topics that the model may pick from."""
    return [line for block in _TOPICS.findall(text) for line in block.splitlines() if line]


def extract(text: str) -> Any:
    """Make each new line of a user a memory, which says of the user what the line says of "I"."""
    said = [(number, words) for number, role, before, words in lines_of(text) if role == "user" and not before]
    return {"memories": [memory(re.sub(r"^I ", "The user ", words), number) for number, words in said]}


def memory(statement: str, *lines: int) -> Any:
    """Return a memory as an extraction writes it."""
    return {"statement": statement, "lines": list(lines), "day": ""}


def nothing(text: str) -> Any:
    """Propose nothing."""
    del text
    return {"memories": []}


def verify(text: str) -> Any:
    """Pass everything."""
    return {"passed": [number for number, _ in memories_of(text)], "corrected": [], "dropped": []}


def classify(text: str) -> Any:
    """Call everything an event, with its first words as questions."""
    return classes({}, text)


def classes(topics: Mapping[str, str], text: str) -> Any:
    """Call those that hold a word a fact with a topic, by the word, and the others events."""
    return {
        "memories": [
            {
                "memory": number,
                "type": "event" if topic is None else "fact",
                "topic": topic or "",
                "queries": [f"{' '.join(_WORD.findall(content)[:4])}?"],
            }
            for number, content in memories_of(text)
            for topic in [next((topics[word] for word in topics if word in content), None)]
        ]
    }


HONEST: Mapping[Stage, Answer] = {"extract": extract, "detail": nothing, "verify": verify, "classify": classify}


@dataclass
class ScriptedModel:
    """Implements ``LanguageModel``."""

    answers: Mapping[Stage, Answer] = field(default_factory=dict)
    """What it answers otherwise than honestly."""
    seconds: float = 0.0
    """How long it takes."""
    keeps: bool = True
    """Whether it keeps what it was asked."""
    calls: Counter[str] = field(default_factory=Counter)
    """How often it was asked, by stage."""
    most_at_once: int = 0
    affinities: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    """What stood between the fences, call by call."""
    _at_once: int = 0

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
        del max_tokens, seconds
        self.calls[stage] += 1
        self.affinities.add(affinity)
        if self.keeps:
            self.asked.append(messages[-1].content)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(self.seconds)
            answer = (self.answers.get(stage) or HONEST[stage])(messages[-1].content)
            if spent is not None:
                spent(Spent(stage, self.name(stage), 100))
            return schema.read(answer)
        except ValueError as error:
            raise ModelAnswerRejected(f"The answer has another form: {error}") from error
        finally:
            self._at_once -= 1

    async def ping(self) -> None:
        return


def failing(error: MemoryGatewayError) -> Answer:
    """Return what raises an error each time."""

    def answer(_: str) -> Any:
        raise error

    return answer


def at_once(error: Unavailable) -> Unavailable:
    """Return the error as one after which the model may be asked again without a wait."""
    error.retry_after = 0
    return error
