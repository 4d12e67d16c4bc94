"""The form of a model's answer, from a type (in place of ``app.services.model_schema`` until that is there)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from app.domain.json_types import Json, to_json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FormSchema(Generic[T]):
    """The form of an answer that is read as a ``T``."""

    name: str
    json_schema: Mapping[str, Json]
    _adapter: "TypeAdapter[T]"

    def read(self, answer: Json) -> T:
        """Return the answer as a ``T``; raise ``ValueError`` where it has another form."""
        try:
            return self._adapter.validate_json(to_json(answer).encode(), strict=True)
        except ValidationError as error:
            raise ValueError(str(error)) from None


def schema(name: str, form: type[T]) -> FormSchema[T]:
    """Return the form of an answer from a frozen dataclass."""
    adapter = TypeAdapter(form)
    whole = adapter.json_schema()
    return FormSchema(name, _inlined(whole, whole.get("$defs", {})), adapter)


def _inlined(part: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        return _inlined(named[part["$ref"].removeprefix("#/$defs/")], named)
    kept = {key: value for key, value in part.items() if key not in {"title", "default", "$defs"}}
    if kept.get("type") == "object":
        fields = {key: _inlined(each, named) for key, each in part["properties"].items()}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    if kept.get("type") == "array":
        kept["items"] = _inlined(part["items"], named)
    return kept
