"""Fields of what callers send, for the routes and the tools alike. ``app.domain.limits`` holds the limits."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from app.domain.errors import FieldError, InvalidRequest, MalformedRequest
from app.domain.json_types import Scalar
from app.domain.limits import MAX_NUMBER, METADATA_BYTES, METADATA_DEPTH
from app.domain.moments import milliseconds, parse_moment
from app.domain.query import Filter

_NO_NUL = r"^[^\u0000]*$"
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"
_MAX_NAMED = 20

_NUMBER_SCHEMA = {"type": "number", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}
_TEXT_SCHEMA = {"type": "string", "pattern": _NO_NUL}
METADATA_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": _NO_NUL},
    "additionalProperties": {"$ref": "#/components/schemas/JsonValue"},
    "description": f"At most {METADATA_BYTES} bytes as JSON, nested at most {METADATA_DEPTH} deep.",
}
JSON_VALUE_SCHEMA = {
    "description": "Any JSON value; no text in it holds NUL.",
    "anyOf": [
        _TEXT_SCHEMA,
        _NUMBER_SCHEMA,
        {"type": ["boolean", "null"]},
        # In two parts: what generators of types write for a list of itself, TypeScript refuses as circular.
        {"type": "array", "allOf": [{"items": {"$ref": "#/components/schemas/JsonValue"}}]},
        {
            "type": "object",
            "propertyNames": {"pattern": _NO_NUL},
            "additionalProperties": {"$ref": "#/components/schemas/JsonValue"},
        },
    ],
}
WANTED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": _NO_NUL},
    "additionalProperties": {"anyOf": [_TEXT_SCHEMA, _NUMBER_SCHEMA, {"type": ["boolean", "null"]}]},
    "description": "Each key must be present with an equal value of the same type.",
}


def text_schema(most: int) -> dict[str, Any]:
    """Return the schema of a text that is not blank, of at most so many characters."""
    return {"minLength": 1, "maxLength": most, "pattern": _NOT_BLANK}


def number(value: object) -> object:
    """Take 5 and 5.0, which JSON Schema calls an integer too, but no text and no boolean."""
    if isinstance(value, str | bool):
        raise ValueError("must be an integer")  # noqa: TRY004 - pydantic takes a ValueError
    return value


def number_or_none(value: object) -> object:
    """Take what ``number`` takes, and null."""
    return None if value is None else number(value)


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a timestamp in a string")  # noqa: TRY004 - pydantic takes a ValueError
    return parse_moment(value)


Moment: TypeAlias = Annotated[
    datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]


class Request(BaseModel):
    """What a caller sends: nothing but the fields it has."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RecallFilter(Request):
    """Conditions that all must hold; they are applied before `top_k` is counted."""

    created_after: Annotated[Moment | None, Field(description="Stored later than this.")] = None
    created_before: Annotated[Moment | None, Field(description="Stored earlier than this.")] = None
    metadata: Annotated[dict[str, Any], WithJsonSchema(WANTED_SCHEMA)] = Field(default_factory=dict)

    def where(self) -> Filter:
        """Return it in the domain's words."""
        return where(self.created_after, self.created_before, self.metadata)


def where(after: datetime | None, before: datetime | None, metadata: Mapping[str, Scalar]) -> Filter:
    """Return a filter of what was stored after and before these moments; None sets no bound."""
    return Filter(
        created_after=None if after is None else milliseconds(after),
        created_before=None if before is None else milliseconds(before, up=True),
        metadata=metadata,
    )


def invalid(errors: Sequence[dict[str, Any]], *, within: int = 1) -> InvalidRequest:
    """Turn pydantic's errors into ours, each named by its field.

    ``within``: how many parts of a field's path say where in the request it is, which its caller did not write.
    """
    if any(error["type"] == "json_invalid" for error in errors):
        return MalformedRequest("The body is not valid JSON.", errors=[FieldError("body", "is not valid JSON")])
    return refused([FieldError(_path(error["loc"], within), _message(error)) for error in errors])


def refused(errors: Sequence[FieldError], detail: str | None = None) -> InvalidRequest:
    """Return the refusal of a request with these wrong fields, of which it names the first; they are the detail too."""
    named = errors[:_MAX_NAMED]
    if detail is None:
        detail = "; ".join(f"{error.field}: {error.message}" for error in named)
        if len(errors) > len(named):
            detail += f"; and {len(errors) - len(named)} more"
    return InvalidRequest(detail, errors=named)


def _path(location: Sequence[str | int], within: int) -> str:
    """Name a field as its caller wrote it: without the part of the request it is in, unless that is all there is."""
    return ".".join(map(str, location[within:] or location))


def _message(error: dict[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "is not a field of this request"
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]
