"""Field types of requests and answers, shared by the routes and the tools.

A field type applies a bound of ``app.domain.limits`` and shows it in the JSON schema.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from inspect import get_annotations
from operator import is_
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from app.domain import limits
from app.domain.errors import FieldError, InvalidRequest, MalformedRequest
from app.domain.limits import CONTENT_BYTES
from app.domain.moments import format_moment, milliseconds, parse_moment, parse_moment_or_day
from app.interfaces.hints import hint
from app.interfaces.json_schemas import FILTER_METADATA_SCHEMA, METADATA_SCHEMA, SPEC_SCHEMA

_T = TypeVar("_T")
_MAX_NAMED = 20
_MAX_FIELDS = 100
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)
_OUT_OF_BOUNDS = "out_of_bounds"
_BOTH_NAMES = "both_names"
_REFUSED = "refused"
# A pattern cannot check all of a day: not each February has 29 days.
_DAY = (
    "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-"
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))"
)
_HOUR = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"


@dataclass(frozen=True, slots=True)
class Within:
    """Makes a field type refuse values outside a bound, and shows the bound in its JSON schema."""

    bound: limits.Bound

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:  # noqa: ANN401 - any type of a field
        """Check the bound after the type."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Add the bound's keywords to the type's."""
        return {**handler(schema), **self.bound.schema}

    def _check(self, value: Any) -> Any:  # noqa: ANN401 - any value of a field
        violation = None if value is None else self.bound.violation(value)
        if violation is not None:
            raise PydanticCustomError(_OUT_OF_BOUNDS, "{message}", {"message": violation.message, "is": violation})
        return value


def _number(value: object) -> object:
    """Accept 5, and 5.0, which is an integer to JSON Schema too, but no text and no boolean."""
    if isinstance(value, str | bool):
        raise ValueError("must be an integer")  # noqa: TRY004 - pydantic takes a ValueError
    return value


def _digits(value: object) -> object:
    """Accept the digits of a query parameter."""
    if isinstance(value, str) and not _DIGITS.fullmatch(value):
        raise ValueError("must be an integer")
    return value


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a timestamp in a string")  # noqa: TRY004 - pydantic takes a ValueError
    return parse_moment(value)


def _moment_or_day(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a timestamp or a day in a string")  # noqa: TRY004 - pydantic takes a ValueError
    return parse_moment_or_day(value)


Number = BeforeValidator(_number)
"""Makes an ``int`` or a ``float`` accept JSON numbers only."""
Digits = BeforeValidator(_digits)
"""Makes an ``int`` of a query accept digits only."""
MomentMs: TypeAlias = Annotated[
    int,
    BeforeValidator(lambda value: milliseconds(_moment(value))),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A timestamp of a request, as milliseconds since the epoch."""
EndMs: TypeAlias = Annotated[
    int,
    BeforeValidator(lambda value: milliseconds(_moment(value), up=True)),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A timestamp of a request that is an upper bound, rounded up, as milliseconds since the epoch."""
MomentOrDayMs: TypeAlias = Annotated[
    int,
    BeforeValidator(lambda value: milliseconds(_moment_or_day(value))),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{_DAY}(?:[Tt]{_HOUR}:(?:[0-5][0-9]|60)(?:\\.[0-9]+)?(?:[Zz]|[+-]{_HOUR}))?$",
            "examples": ["2026-04-21T00:00:00.000Z", "2026-04-21"],
        }
    ),
]
"""A timestamp of a request, or a day, as milliseconds since the epoch."""
Timestamp: TypeAlias = Annotated[str, BeforeValidator(format_moment), Field(json_schema_extra={"format": "date-time"})]
"""A timestamp of an answer, made of milliseconds since the epoch."""
Content: TypeAlias = Annotated[str, Within(limits.CONTENT)]
QueryText: TypeAlias = Annotated[str, Within(limits.QUERY)]
TopK: TypeAlias = Annotated[int, Number, Within(limits.TOP_K)]
TopKOfTools: TypeAlias = Annotated[int, Number, Within(limits.TOP_K_OF_TOOLS)]
Metadata: TypeAlias = Annotated[dict[str, Any], Within(limits.METADATA), WithJsonSchema(METADATA_SCHEMA)]
WorkflowSpec: TypeAlias = Annotated[dict[str, Any], Within(limits.WORKFLOW_SPEC), WithJsonSchema(SPEC_SCHEMA)]
FilterMetadata: TypeAlias = Annotated[
    dict[str, Any], Within(limits.FILTER_METADATA), WithJsonSchema(FILTER_METADATA_SCHEMA)
]
AT_MOST_CONTENT_BYTES = f"At most {CONTENT_BYTES} bytes in UTF-8."


is_none = partial(is_, None)
"""Tells whether a value is None, which an answer leaves out."""


def either(name: str, old: str) -> AliasChoices:
    """Return both names of a request's field: its name, and the old one, which is taken until the next version.

    It is the field's ``validation_alias``; the field may be left out. A request with both names is refused.
    """
    return AliasChoices(name, old)


def old_names(fields: type[BaseModel]) -> dict[str, str]:
    """Return the old names of a request's fields, each with the name that stands for it now."""
    choices = {name: field.validation_alias for name, field in fields.model_fields.items()}
    return {
        str(old): name
        for name, alias in choices.items()
        if isinstance(alias, AliasChoices)
        for old in alias.choices
        if old != name
    }


class Request(BaseModel):
    """Base of requests. A field that a request does not have is refused, and so is one that comes by both its names."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    _old_names: ClassVar[Mapping[str, str]] = {}
    _shared_with: ClassVar[dict[type, Sequence[str]]] = {}
    """By a dataclass, the names of its fields that are attributes of such a request."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401 - pydantic's hook
        """Note the old names of the fields, so that a request is read as fast as one that has none."""
        cls._old_names, cls._shared_with = old_names(cls), {}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Show the old names too, as deprecated, and that a request has one of the two."""
        shown = handler(schema)
        described = handler.resolve_ref_schema(shown)
        for old, name in cls._old_names.items():
            if old not in described["properties"]:
                described["properties"][old] = by_old_name(described["properties"][name], name)
                # Under "then", which generators of clients pass over.
                described |= {"if": {"type": "object"}, "then": {"not": {"required": [name, old]}}}
        return shown

    def to(self, kind: type[_T], **given: Any) -> _T:  # noqa: ANN401 - any type of a field
        """Return the domain's object of the request: a ``kind`` of the fields of the same names, and those ``given``.

        Raises:
            InvalidRequest: the dataclass ``kind`` refuses a field.
        """
        names = self._shared_with.get(kind) or self._share(kind)
        return kind(**{name: getattr(self, name) for name in names if name not in given}, **given)

    @classmethod
    def _share(cls, kind: Any) -> Sequence[str]:  # noqa: ANN401 - a dataclass
        """Return the names of a dataclass's fields that a request has as attributes; the others keep their defaults."""
        attributes = {name for base in cls.__mro__ for name in get_annotations(base)}
        names = [field.name for field in fields(kind) if field.init]
        shared = [name for name in names if name in attributes or hasattr(cls, name)]
        cls._shared_with[kind] = shared
        return shared

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, data: Any) -> Any:  # noqa: ANN401 - any body
        """Count the fields before each unknown one becomes an error of its own."""
        if not isinstance(data, Mapping):
            return data
        if len(data) > _MAX_FIELDS:
            raise ValueError(f"has {len(data)} fields, at most {len(cls.model_fields)} exist")
        for old, name in cls._old_names.items():
            if old in data and name in data:
                raise PydanticCustomError(_BOTH_NAMES, "{old}", {"old": old, "name": name})
        return data


def refusing(data: object, messages: Mapping[str, str]) -> object:
    """Return a request's data; raise where it has one of these fields, with the field's message."""
    if isinstance(data, Mapping):
        for field, message in messages.items():
            if field in data:
                raise PydanticCustomError(_REFUSED, "{message}", {"field": field, "message": message})
    return data


def by_old_name(described: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the schema of a field under its old name; ``name`` stands for it now."""
    kept = {part: value for part, value in described.items() if part not in {"description", "title"}}
    return {**kept, "deprecated": True, "description": f"The old name of `{name}`, taken until the next version."}


class Answer(BaseModel):
    """Base of answers that are read from the attributes of a domain object."""

    model_config = ConfigDict(from_attributes=True)


class RecallFilter(Request):
    """Conditions that all must hold; they are applied before `top_k` is counted."""

    created_after: Annotated[MomentMs | None, Field(description="Stored later than this.")] = None
    created_before: Annotated[EndMs | None, Field(description="Stored earlier than this.")] = None
    metadata: FilterMetadata = Field(default_factory=dict)


def invalid(errors: Sequence[dict[str, Any]], *, within: int = 1) -> InvalidRequest:
    """Return the refusal of a request with pydantic's errors, each named by its field.

    Fields that are missing, unknown or of another type are named alone; without such fields, those outside their bounds
    are named.

    Args:
        errors: pydantic's errors.
        within: how many leading parts of a field's path name a part of the request, which its caller did not write.
    """
    if any(error["type"] == "json_invalid" for error in errors):
        return MalformedRequest("The body is not valid JSON.", errors=[FieldError("body", "is not valid JSON")])
    of_type = [error for error in errors if error["type"] != _OUT_OF_BOUNDS]
    if of_type:
        return refused([field for error in of_type for field in _fields(error, within)])
    return limits.out_of_bounds([(_path(error["loc"], within), error["ctx"]["is"]) for error in errors])


def refused(errors: Sequence[FieldError], detail: str | None = None) -> InvalidRequest:
    """Return the refusal of a request, which names the first of the wrong fields; by default its detail does, too."""
    named = errors[:_MAX_NAMED]
    if detail is None:
        detail = "; ".join(f"{error.field}: {error.message}" for error in named)
        if len(errors) > len(named):
            detail += f"; and {len(errors) - len(named)} more"
    return InvalidRequest(detail, errors=named)


def _fields(error: dict[str, Any], within: int) -> list[FieldError]:
    """Name the field that an error is about; of one that came by both its names, both."""
    if error["type"] == _REFUSED:
        return [FieldError(_path([*error["loc"], error["ctx"]["field"]], within), error["ctx"]["message"])]
    if error["type"] != _BOTH_NAMES:
        return [FieldError(_path(error["loc"], within), _message(error))]
    old, name = error["ctx"]["old"], error["ctx"]["name"]
    messages = {name: f"is given a second time as `{old}`, its old name", old: f"is the old name of `{name}`"}
    return [FieldError(_path([*error["loc"], each], within), message) for each, message in messages.items()]


def _path(location: Sequence[str | int], within: int) -> str:
    """Name a field as its caller wrote it: without the part of the request it is in, unless its path has no more."""
    return ".".join(map(str, location[within:] or location))


def _message(error: dict[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return f"is not a field of this request{hint(str(error['loc'][-1]))}"
    if error["type"] == "missing" and tuple(error["loc"][:-1]) == ("query",):
        return f"is required in the query, as in ?{error['loc'][-1]}=..."
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]
