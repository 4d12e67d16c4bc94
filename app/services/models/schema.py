"""The form of a model's answer, made from a type: a JSON schema, and the strict reading of an answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from app.domain.json_types import Json, to_json

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEPT = ("type", "enum", "const", "minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems")
_MAX_TOLD = 5
"""Mistakes of an answer that are named at most; a model corrects few at a time."""


@dataclass(slots=True)
class FormSchema(Generic[T]):
    """The form of an answer that is read as a ``T``. Implements ``Schema``."""

    name: str
    json_schema: Mapping[str, Json]
    _adapter: "TypeAdapter[T]"

    def read(self, answer: Json) -> T:
        """Return the answer as a ``T``.

        No value is converted: a number in quotes is no number. A key that is missing or unknown is an error, and so is
        a text that is no Unicode or has a NUL, which no database of this service can keep.

        Raises:
            ValueError: the answer has another form. The error names at most five mistakes, each with its place. It may
                quote the answer's keys, and so is for the model alone.
        """
        mistakes = list(_mistakes(answer, self.json_schema, "answer"))
        if mistakes:
            raise ValueError("; ".join(mistakes[:_MAX_TOLD]))
        try:
            return self._adapter.validate_json(to_json(answer).encode(), strict=True)
        except ValidationError as error:
            raise ValueError(_told(error)) from None
        except RecursionError:
            raise ValueError("answer: it is nested too deeply") from None


def schema(name: str, form: type[T]) -> FormSchema[T]:
    """Return the form of an answer from a frozen dataclass or a pydantic model, whose fields may be such classes too.

    A field is a ``str``, ``int``, ``float``, ``bool``, a ``Literal`` of strings, ``X | None``, a ``list[X]``,
    ``Sequence[X]`` or ``tuple[X, ...]``, or such a class. Each text and each list declares its greatest length,
    and may declare more: ``Annotated[str, Field(max_length=200, description="...")]`` with pydantic's ``Field``. The
    descriptions of fields are shown to the model; docstrings are not. Defaults have no effect: an answer has each
    field.

    Raises:
        TypeError: a model cannot be asked for the form, which is a defect.
    """
    if not _NAME.fullmatch(name):
        raise TypeError(f"{name!r} is no name of a schema: use 1 to 64 of A-Z a-z 0-9 _ -.")
    adapter = TypeAdapter(form)
    whole = adapter.json_schema()
    inlined = _inlined(whole, whole.get("$defs", {}), name, ())
    if inlined.get("type") != "object":
        raise TypeError(f"{name} is no object.")
    return FormSchema(name, inlined, adapter)


def _inlined(part: Mapping[str, Any], named: Mapping[str, Any], place: str, within: tuple[str, ...]) -> dict[str, Json]:
    """Return a part of pydantic's schema without references, titles and defaults, every object closed."""
    described: dict[str, Json] = {"description": part["description"]} if "description" in part else {}
    if "$ref" in part:
        reference = part["$ref"].removeprefix("#/$defs/")
        if reference in within:
            raise TypeError(f"{place} holds itself.")
        return _inlined(named[reference], named, place, (*within, reference)) | described
    if "anyOf" in part:
        return described | {"anyOf": [_inlined(each, named, place, within) for each in part["anyOf"]]}
    match part.get("type"):
        case "object":
            return _closed(part, named, place, within)
        case "array":
            if "items" not in part or "maxItems" not in part:
                raise TypeError(f"{place} is a list that does not declare what it holds and how many of it at most.")
            return _kept(part) | {"items": _inlined(part["items"], named, f"{place}[]", within)} | described
        case "string" if not part.keys() & {"maxLength", "enum", "const"}:
            raise TypeError(f"{place} is a text that does not declare how long it may be.")
        case None if not part.keys() & {"enum", "const"}:
            raise TypeError(f"{place} may be anything.")
        case _:
            return _kept(part) | described


def _kept(part: Mapping[str, Any]) -> dict[str, Json]:
    return {key: part[key] for key in _KEPT if key in part}


def _closed(part: Mapping[str, Any], named: Mapping[str, Any], place: str, within: tuple[str, ...]) -> dict[str, Json]:
    """Return the schema of an object that has each of its fields, and no other fields."""
    properties = part.get("properties", {}).items()
    fields = {key: _inlined(each, named, f"{place}.{key}", within) for key, each in properties}
    if not fields or part.get("additionalProperties"):
        raise TypeError(f"{place} is an object without fields of its own.")
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _mistakes(answer: Json, form: Mapping[str, Json], place: str) -> Iterator[str]:
    """Yield the mistakes that pydantic would let pass: missing or unknown keys, and text that cannot be kept."""
    if isinstance(answer, str):
        if "\0" in answer or any("\ud800" <= letter <= "\udfff" for letter in answer):
            yield f"{place}: it is text with NUL or half a character"
    elif form and isinstance(answer, Mapping):
        yield from _mistakes_of_object(answer, _choice(form, "object"), place)
    elif form and isinstance(answer, Sequence):
        items = cast("Mapping[str, Json]", _choice(form, "array").get("items", {}))
        for number, each in enumerate(answer):
            yield from _mistakes(each, items, f"{place}[{number}]")


def _mistakes_of_object(answer: Mapping[str, Json], form: Mapping[str, Json], place: str) -> Iterator[str]:
    fields = cast("Mapping[str, Mapping[str, Json]]", form.get("properties", {}))
    yield from (f"{place}.{key}: it is missing" for key in fields if key not in answer)
    yield from (f"{place}: {key[:64]!r} is no key of it" for key in answer if form and key not in fields)
    for key in fields.keys() & answer.keys():
        yield from _mistakes(answer[key], fields[key], f"{place}.{key}")


def _choice(form: Mapping[str, Json], kind: str) -> Mapping[str, Json]:
    """Return the form, or the first of its choices, that is of the kind; empty where there is none."""
    choices = cast("Sequence[Mapping[str, Json]]", form.get("anyOf", [form]))
    return next((choice for choice in choices if choice.get("type") == kind), {})


def _told(error: ValidationError) -> str:
    """Name the first mistakes, each with its place, without the values of the answer."""
    return "; ".join(
        f"{_place(each['loc'])}: {each['msg']}"
        for each in error.errors(include_input=False, include_url=False)[:_MAX_TOLD]
    )


def _place(location: Sequence[int | str]) -> str:
    return "answer" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
