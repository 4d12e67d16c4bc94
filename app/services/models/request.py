"""What a model is asked in one call: its rules, the data between fences, and the form of the answer."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Generic, TypeVar

from app.domain.json_types import Json
from app.ports.language_model import ModelMessage, Schema, Stage
from app.services.models.schema import schema

T = TypeVar("T")

_FOLDER = resources.files(__package__) / "prompts"
_UNKEPT = re.compile("[\0\ud800-\udfff]")
"""What no database keeps."""
_REPLACED = "\ufffd"
_EXTRACTING = frozenset(("extract", "detail"))


@dataclass(frozen=True, slots=True)
class ModelRequest(Generic[T]):
    """One call of a model."""

    messages: Sequence[ModelMessage]
    schema: Schema[T]
    stage: Stage
    max_tokens: int
    """Of the answer."""


@dataclass(slots=True)
class ClippedSchema(Generic[T]):
    """A form of an answer of which what is too long is cut, so that one long text does not cost the rest.

    Implements ``Schema``. A form declares somewhat more than what is taken of it, so that what is too long can be told
    from what fits.
    """

    name: str
    json_schema: Mapping[str, Json]
    _read: Callable[[Json], T]

    def read(self, answer: Json) -> T:
        """Return what an answer says; raise ``ValueError`` where it has another form."""
        return self._read(_clipped(answer, self.json_schema))


def request(stage: Stage, form: type[T], max_tokens: int, messages: Sequence[ModelMessage]) -> ModelRequest[T]:
    """Return a call of a stage, whose answer has the form of a frozen dataclass."""
    return ModelRequest(messages, _clipped_schema(stage, form), stage, max_tokens)  # type: ignore[arg-type]  # a class can be hashed


@cache
def _clipped_schema(stage: Stage, form: type[Any]) -> ClippedSchema[Any]:
    whole = schema(stage, form)
    return ClippedSchema(whole.name, whole.json_schema, whole.read)


@cache
def prompts() -> Sequence[str]:
    """Return the text of each file of rules."""
    return [each.read_text("utf-8").strip() for each in _FOLDER.iterdir() if each.name.endswith(".txt")]


@cache
def rules(task: str) -> str:
    """Return the rules of a task, most often a stage; ``<MARK>`` stands where the mark of a call belongs."""
    names = (task, "statements", "fence") if task in _EXTRACTING else (task, "fence")
    return "\n\n".join((_FOLDER / f"{name}.txt").read_text("utf-8").strip() for name in names)


def asked(task: str, mark: str, *data: str) -> Sequence[ModelMessage]:
    """Return the messages of a call: the rules of a task, and what stands between fences (``fenced``)."""
    return (
        ModelMessage("system", rules(task).replace("<MARK>", mark)),
        ModelMessage("user", "\n\n".join(data)),
    )


def fenced(title: str, text: str, mark: str) -> str:
    """Return text as data: between two lines that carry a mark, which stands nowhere in it.

    Whoever makes a call makes its mark, which nobody can guess.
    """
    return f"<<<{mark} {title}\n{text.replace(mark, _REPLACED)}\n{mark}>>>"


def _clipped(answer: Json, form: Mapping[str, Any]) -> Json:
    """Cut the texts and lists of an answer at the lengths that its form declares; take out what cannot be kept."""
    if not form:  # what is not declared may be nested as deeply as it likes
        return answer
    if isinstance(answer, str):
        return _UNKEPT.sub("", answer[: form.get("maxLength")])
    if isinstance(answer, Mapping):
        fields = form.get("properties", {})
        return {key: _clipped(value, fields.get(key, {})) for key, value in answer.items()}
    if isinstance(answer, Sequence):
        return [_clipped(each, form.get("items", {})) for each in answer[: form.get("maxItems")]]
    return answer
