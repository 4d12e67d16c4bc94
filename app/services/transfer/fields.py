"""The fields of a line: each is declared once, with what it may be, how it is read and how it is written."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from app.domain.bounds import Bound, Violation
from app.domain.json_types import Json

_TYPES: Mapping[type, str] = {str: "a text", dict: "an object", bool: "true or false"}


class BadLineError(Exception):
    """A line that cannot be taken, and why; ``id`` is that of its memory or row, where it can be read."""

    def __init__(self, detail: str, id_: str | None = None) -> None:
        """Keep what to report; ``detail`` goes on from what the line is called."""
        super().__init__(detail)
        self.detail = detail
        self.id = id_


def bad(detail: str) -> NoReturn:
    """Refuse the line."""
    raise BadLineError(detail)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object.

    Attributes:
        type: What its JSON is; ``object``: the bound alone decides.
        bound: Which values of the type it may have.
        required: Whether every object has it; one that may be absent is None in what is written.
        pair: The field that an object has with it, or not at all.
        parse: Makes its value of its JSON; raises ``ValueError`` with what is wrong with it.
        write: Makes its JSON of its value.
    """

    name: str
    type: type = str
    bound: Bound | None = None
    required: bool = True
    pair: str | None = None
    parse: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Json] = lambda value: value

    def read(self, value: Json) -> Any:  # noqa: ANN401 - a value of any field
        """Return the value of its JSON; raises ``BadLineError`` where it may not be that."""
        if not isinstance(value, self.type):
            bad(f"{self.name} must be {_TYPES[self.type]}")
        if self.bound is not None and (violation := self.bound.violation(value)) is not None:
            bad(f"{self.name} {violation.message}")
        try:
            return self.parse(value)
        except ValueError as error:
            raise BadLineError(f"{self.name} {error}") from None


def read_fields(value: Mapping[str, Json], declared: Sequence[Field]) -> dict[str, Any]:
    """Return the values of an object's fields, by name.

    Raises:
        BadLineError: a field is not declared, or is missing, or cannot be what it is.
    """
    _check_names(value, declared)
    return {field.name: field.read(value[field.name]) for field in declared if field.name in value}


def _check_names(value: Mapping[str, Json], declared: Sequence[Field]) -> None:
    names = {field.name for field in declared}
    if "tenant" in value and "tenant" not in names:
        bad("a memory names no tenant: it is that of the credential")
    if unknown := value.keys() - names:
        bad(f"has a field that is not known: {min(unknown)[:40]!a}")
    if missing := sorted(field.name for field in declared if field.required and field.name not in value):
        bad(f"lacks {' and '.join(missing)}")
    for field in declared:
        if field.pair is not None and (field.name in value) is not (field.pair in value):
            bad(f"{field.name} and {field.pair} belong together")


def write_fields(value: object, declared: Sequence[Field]) -> dict[str, Json]:
    """Return the fields of an object as JSON, in the order of their declaration; what it has not is left out."""
    values = ((field, getattr(value, field.name)) for field in declared)
    return {field.name: field.write(of_field) for field, of_field in values if of_field is not None}


def bounded(holds: Callable[[Any], bool], message: str) -> Bound:
    """Bound a field to what holds of it."""
    return Bound(lambda value: None if holds(value) else Violation(message))


def texts(most: int, of: Bound, *, least: int = 0) -> Bound:
    """Bound a field to a list of at most so many texts within a bound."""

    def violation(value: Json) -> Violation | None:
        if not isinstance(value, list) or not is_texts(value) or len(value) > most:
            return Violation(f"must be a list of at most {most} texts")
        wanting = [""] * (least - len(value))  # what is missing is not within the bound either
        return next(filter(None, map(of.violation, [*value, *wanting])), None)

    return Bound(violation)


def is_texts(value: object) -> bool:
    """Tell whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_no_constant)
"""Reads JSON, without the constants NaN and Infinity, which JSON does not have."""
