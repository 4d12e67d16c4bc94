"""The request of one call of a model: its rules, the data between fences, and the form of the answer."""

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
"""Characters that no database keeps."""
_REPLACED = "\ufffd"
_EXTRACTING = frozenset(("extract", "detail"))


@dataclass(frozen=True, slots=True)
class ModelRequest(Generic[T]):
    """One call of a model."""

    messages: Sequence[ModelMessage]
    schema: Schema[T]
    stage: Stage
    max_tokens: int
    """The most tokens of the answer."""


@dataclass(slots=True)
class ClippedSchema(Generic[T]):
    """The form of an answer whose long texts and lists are cut, so that one long text does not lose the whole answer.

    Implements ``Schema``. A form declares somewhat longer texts and lists than are taken of it, so that a text that was
    too long can be told from one that fits.
    """

    name: str
    json_schema: Mapping[str, Json]
    _read: Callable[[Json], T]

    def read(self, answer: Json) -> T:
        """Return the answer as the form's type; raise ``ValueError`` where the answer has another form."""
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
    """Return the rules of a task, which most often is a stage; ``<MARK>`` holds the place of a call's mark."""
    names = (task, "statements", "fence") if task in _EXTRACTING else (task, "fence")
    return "\n\n".join((_FOLDER / f"{name}.txt").read_text("utf-8").strip() for name in names)


def asked(task: str, mark: str, *data: str) -> Sequence[ModelMessage]:
    """Return the messages of a call: the rules of a task, and its data between fences (``fenced``)."""
    return (
        ModelMessage("system", rules(task).replace("<MARK>", mark)),
        ModelMessage("user", "\n\n".join(data)),
    )


def fenced(title: str, text: str, mark: str) -> str:
    """Return text as data, between two lines with a mark; the mark is replaced where the text contains it.

    The caller makes a mark for each call, which cannot be guessed.
    """
    return f"<<<{mark} {title}\n{text.replace(mark, _REPLACED)}\n{mark}>>>"


def _clipped(answer: Json, form: Mapping[str, Any]) -> Json:
    """Cut the texts and lists of an answer at the lengths that its form declares; remove characters of ``_UNKEPT``."""
    if not form:  # a value that is not declared may be nested to any depth
        return answer
    if isinstance(answer, str):
        return _UNKEPT.sub("", answer[: form.get("maxLength")])
    if isinstance(answer, Mapping):
        fields = form.get("properties", {})
        return {key: _clipped(value, fields.get(key, {})) for key, value in answer.items()}
    if isinstance(answer, Sequence):
        return [_clipped(each, form.get("items", {})) for each in answer[: form.get("maxItems")]]
    return answer
