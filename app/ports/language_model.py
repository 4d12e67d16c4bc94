"""What a language model answers to messages, in a form that the caller gives."""

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
    """A message to a model: what it is to do ("system"), or what it does it with ("user")."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What one call of a model has cost, whether or not its answer was of use."""

    stage: Stage
    model: str
    tokens: int
    """Of the messages and the answer; 0 where the service does not say, the most there may be where it came late."""


class Schema(Protocol[T_co]):
    """The form of an answer."""

    name: str
    """What the model knows it by: 1 to 64 of ``[A-Za-z0-9_-]``."""
    json_schema: Mapping[str, Json]
    """An object's schema, of which each property is required and no other is allowed."""

    def read(self, answer: Json) -> T_co:
        """Return what an answer says; raise ``ValueError``, which says what is wrong with it, where it is not so."""
        ...


class LanguageModel(Protocol):
    """Answers messages, with one model for each stage."""

    def name(self, stage: Stage) -> str:
        """Return what operators know a stage's model by: the provider and the model."""
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

        An answer that cannot be read is asked for once more, with what is wrong with it.

        ``affinity`` says whose messages belong together (``x-session-affinity``): a profile's. The call, with what is
        asked once more, ends after ``seconds``; None: after the time that the adapter was given. ``spent`` is told of
        each call that was answered, and of each that was sent and not waited for any longer: it is paid for too.

        Raises:
            ModelAnswerRejected: the answer has no form that can be read, nor has the second one.
            Unavailable: the model does not answer; the caller decides what to do without it.
        """
        ...

    async def ping(self) -> None:
        """Return if each stage's model answers; raise ``Unavailable``, which names the model, if one does not."""
        ...
