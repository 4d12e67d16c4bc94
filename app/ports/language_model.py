"""Answers of a language model to messages, in a form that the caller gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from app.domain import stages
from app.domain.json_types import Json

Stage: TypeAlias = stages.Stage
STAGES: Final[Sequence[Stage]] = stages.STAGES

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """A message to a model: the task ("system"), or the texts that the task is about ("user")."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of one call of a model, whether or not its answer was of use."""

    stage: Stage
    model: str
    tokens: int
    """Tokens of the messages and the answer; 0 where the service does not say, the maximum for a late answer."""


class Schema(Protocol[T_co]):
    """The form of an answer."""

    name: str
    """The name of the form for the model: 1 to 64 of ``[A-Za-z0-9_-]``."""
    json_schema: Mapping[str, Json]
    """An object's schema, of which each property is required and no other is allowed."""

    def read(self, answer: Json) -> T_co:
        """Return the value of an answer; raise ``ValueError``, which says what is wrong, where it has another form."""
        ...


class LanguageModel(Protocol):
    """Answers messages, with one model for each stage."""

    def name(self, stage: Stage) -> str:
        """Return the name of a stage's model for operators: the provider and the model."""
        ...

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
        """Return the answer, read by the schema.

        After an answer that cannot be read the model is asked once more, and told what is wrong with the answer.

        ``affinity`` names the profile whose messages belong together (``x-session-affinity``). The call, with its
        second request, ends after ``seconds``; None: after the time that the adapter was given. ``spent`` takes the
        cost of each call that was answered, and of each call that was sent and then given up: it is paid for too.

        Raises:
            ModelAnswerRejected: neither the first answer nor the second one can be read.
            Unavailable: the model does not answer; the caller decides what to do without it.
        """
        ...

    async def ping(self) -> None:
        """Return if each stage's model answers; raise ``Unavailable``, which names the model, if one does not."""
        ...
