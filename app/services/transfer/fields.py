"""The fields of a line: each field is declared once, with its bound, how it is read and how it is written."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from app.domain.bounds import Bound, Violation
from app.domain.json_types import Json

_TYPES: Mapping[type, str] = {str: "a text", dict: "an object", bool: "true or false"}


class BadLineError(Exception):
    """A line that cannot be taken, and why; ``id`` is the id of its memory or row, where the id can be read."""

    def __init__(self, detail: str, id_: str | None = None) -> None:
        """Keep the reason; ``detail`` continues a sentence that begins with the name of the line."""
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
        type: The type of the field's JSON; ``object``: the bound alone decides.
        bound: Which values of the type are allowed; None: all values.
        required: Whether every object has the field; an object that is written has None in place of an absent field.
        pair: The field that an object has together with this field, or lacks together with it.
        parse: Makes the value from the JSON; raises ``ValueError`` with the reason. None: the value is the JSON.
        write: Makes the JSON from the value; None: the value is the JSON.
    """

    name: str
    type: type = str
    bound: Bound | None = None
    required: bool = True
    pair: str | None = None
    parse: Callable[[Any], Any] | None = None
    write: Callable[[Any], Json] | None = None

    def read(self, value: Json) -> Any:  # noqa: ANN401 - a value of any field
        """Return the value of the field's JSON; raises ``BadLineError`` where the JSON is not allowed."""
        if not isinstance(value, self.type):
            bad(f"{self.name} must be {_TYPES[self.type]}")
        if self.bound is not None and (violation := self.bound.violation(value)) is not None:
            bad(f"{self.name} {violation.message}")
        try:
            return value if self.parse is None else self.parse(value)
        except ValueError as error:
            raise BadLineError(f"{self.name} {error}") from None


class Fields:
    """The fields of a kind of object, in the order in which they are read and written."""

    def __init__(self, *declared: Field) -> None:
        """Take the fields, each once."""
        self.declared = declared
        self._names = {field.name for field in declared}
        self._required = sorted(field.name for field in declared if field.required)
        self._pairs = [(field.name, field.pair) for field in declared if field.pair is not None]

    def read(self, value: Mapping[str, Json]) -> dict[str, Any]:
        """Return the values of an object's fields, by name.

        Raises:
            BadLineError: a field is not declared, is missing, or has a value that is not allowed.
        """
        if "tenant" in value and "tenant" not in self._names:
            bad("a memory names no tenant: it is that of the credential")
        if unknown := value.keys() - self._names:
            bad(f"has a field that is not known: {min(unknown)[:40]!a}")
        if missing := [name for name in self._required if name not in value]:
            bad(f"lacks {' and '.join(missing)}")
        for one, other in self._pairs:
            if (one in value) is not (other in value):
                bad(f"{one} and {other} belong together")
        return {field.name: field.read(value[field.name]) for field in self.declared if field.name in value}

    def write(self, item: object) -> dict[str, Json]:
        """Return the fields of an object as JSON; a field that is None is left out."""
        written: dict[str, Json] = {}
        for field in self.declared:
            if (value := getattr(item, field.name)) is not None:
                written[field.name] = value if field.write is None else field.write(value)
        return written


def bounded(holds: Callable[[Any], bool], message: str) -> Bound:
    """Bound a field to the values for which ``holds`` is true."""
    return Bound(lambda value: None if holds(value) else Violation(message))


def texts(most: int, of: Bound, *, least: int = 0) -> Bound:
    """Bound a field to a list of ``least`` to ``most`` texts, each within the bound ``of``."""

    def violation(value: Json) -> Violation | None:
        if not isinstance(value, list) or not is_texts(value) or len(value) > most:
            return Violation(f"must be a list of at most {most} texts")
        wanting = [""] * (least - len(value))  # a missing text counts as empty, which is not within the bound
        return next(filter(None, map(of.violation, [*value, *wanting])), None)

    return Bound(violation)


def is_texts(value: object) -> bool:
    """Tell whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


DECODER = json.JSONDecoder(parse_constant=_no_constant)
"""Reads JSON, without the constants NaN and Infinity, which JSON does not have."""
