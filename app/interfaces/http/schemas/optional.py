"""Fields that may be left out of a request or of an answer, and are shown so: without null, and without a default."""

from dataclasses import dataclass
from operator import not_
from typing import Annotated, Any, TypeAlias

from pydantic import AliasChoices, BeforeValidator, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import core_schema

from app.interfaces.fields import EndMs, MomentMs, Timestamp, Within, is_none
from app.interfaces.http.schemas import examples


def _not_null(value: object) -> object:
    if value is None:
        raise ValueError("must not be null: leave it out")
    return value


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def optional(description: str | None = None, *, by: AliasChoices | None = None) -> Any:  # noqa: ANN401 - as pydantic's own
    """Make a field that may be left out. ``by``: the names by which a request may give it."""
    return Field(None, description=description, json_schema_extra=_without_default, validation_alias=by)


def absent_if_none(description: str | None = None) -> Any:  # noqa: ANN401 - as pydantic's own
    """Make a field that an answer leaves out where it is None; the answer's JSON values keep their nulls."""
    return Field(None, description=description, json_schema_extra=_without_default, exclude_if=is_none)


def absent_if_empty(description: str) -> Any:  # noqa: ANN401 - as pydantic's own
    """Make a field that an answer leaves out where there is nothing in it."""
    return Field(None, description=description, json_schema_extra=_without_default, exclude_if=not_)


def old_name(name: str, *, of: str | None = None, written: str | None = None) -> Any:  # noqa: ANN401 - as pydantic's own
    """Make a field of an answer that is the old name of another one, ``name``, and is given until the next version.

    ``of`` is the attribute that it is read from, and ``written`` the old name, where those have other names.
    """

    def deprecated(schema: dict[str, Any]) -> None:
        _without_default(schema)
        schema["deprecated"] = True

    description = f"The old name of `{name}`, given until the next version."
    return Field(
        None,
        description=description,
        json_schema_extra=deprecated,
        exclude_if=is_none,
        validation_alias=of,
        serialization_alias=written,
    )


@dataclass(frozen=True, slots=True)
class TextWithin(Within):
    """Makes a text of a request that may be left out refuse values outside a bound, and shows both with an example."""

    example: str

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Show it as a text: no request writes null for what it leaves out."""
        return {"type": "string", **self.bound.schema, "examples": [self.example]}


NotNull = BeforeValidator(_not_null)
"""Refuses null in a request."""
TEXT = WithJsonSchema({"type": "string"})
MOMENT = WithJsonSchema({"type": "string", "format": "date-time", "examples": [examples.MOMENT]})
CODES = WithJsonSchema({"type": "array", "items": {"type": "string"}})
OptionalText: TypeAlias = Annotated[str | None, TEXT]
OptionalCount: TypeAlias = Annotated[int | None, WithJsonSchema({"type": "integer"})]
OptionalCodes: TypeAlias = Annotated[list[str] | None, CODES]
OptionalMs: TypeAlias = Annotated[MomentMs | None, MOMENT]
OptionalEndMs: TypeAlias = Annotated[EndMs | None, MOMENT]
OptionalTimestamp: TypeAlias = Annotated[Timestamp | None, MOMENT]
"""A timestamp of an answer."""
