"""Metadata filters: what may be asked, and how an indexed value is compared.

https://developers.cloudflare.com/vectorize/reference/metadata-filtering/
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from memory_gateway_double.v4 import refused
from memory_gateway_double.wire import Refusal

Scalar: TypeAlias = str | float | bool | None

INVALID_FILTER = 40022
"""Not documented; guessed to be one code for all."""
KINDS = ("string", "number", "boolean")

_FILTER_BYTES = 2048
_KEY_CHARACTERS = 512
_INDEXED_BYTES = 64
_LOWER, _UPPER = {"$gt", "$gte"}, {"$lt", "$lte"}
_RANGES = _LOWER | _UPPER
_LISTS = {"$in", "$nin"}
_OPERATORS = {"$eq", "$ne"} | _RANGES | _LISTS


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison; ``operands`` holds one value, or several for ``$in`` and ``$nin``."""

    key: str
    operator: str
    operands: tuple[Scalar, ...]

    def holds(self, value: Scalar) -> bool:
        """Whether an indexed value passes; None stands for a property that the vector does not have."""
        if self.operator in {"$eq", "$in", "$ne", "$nin"}:
            # True equals 1.0 in Python, not here
            among = any(type(value) is type(operand) and value == operand for operand in self.operands)
            return among == (self.operator in {"$eq", "$in"})
        bound = self.operands[0]
        if isinstance(value, str) and isinstance(bound, str):
            return _in_range(self.operator, value.encode(), bound.encode())
        if isinstance(value, float) and isinstance(bound, float):
            return _in_range(self.operator, value, bound)
        return False


def read(content: object, declared: Mapping[str, str]) -> tuple[Condition, ...]:
    """Read the ``filter`` of a query.

    Raises:
        Refusal: it breaks a rule, or asks for a property that has no metadata index.
    """
    if content is None:
        return ()
    if not isinstance(content, dict) or not content:
        raise invalid("expected a non-empty object")
    if len(orjson.dumps(content)) >= _FILTER_BYTES:
        raise invalid(f"the compact JSON representation must be less than {_FILTER_BYTES} bytes")
    conditions = [condition for key, asked in content.items() for condition in _of_key(key, asked)]
    for condition in conditions:
        if condition.key not in declared:
            raise invalid(f'property "{condition.key}" has no metadata index')
    return tuple(conditions)


def invalid(reason: str) -> Refusal:
    """Refuse a filter."""
    return refused(400, INVALID_FILTER, f"invalid filter: {reason}")


def indexed(metadata: Mapping[str, Any], declared: Mapping[str, str]) -> dict[str, Scalar]:
    """Return what the metadata indexes hold of a vector: None for a property it lacks or has with another type."""
    return {key: _indexed(_lookup(metadata, key), kind) for key, kind in declared.items()}


def shown(metadata: Mapping[str, Any], declared: Mapping[str, str]) -> dict[str, Scalar]:
    """Return what ``returnMetadata: indexed`` shows: the indexed properties, long strings cut off."""
    return {key: value for key, value in indexed(metadata, declared).items() if value is not None}


def truncated(text: str) -> str:
    """Cut a string to what is indexed of it: 64 bytes, never inside a character."""
    data = text.encode()
    return text if len(data) <= _INDEXED_BYTES else data[:_INDEXED_BYTES].decode("utf-8", "ignore")


def _of_key(key: str, asked: object) -> Sequence[Condition]:
    if not key or len(key) > _KEY_CHARACTERS or '"' in key or key.startswith("$"):
        raise invalid(f"{key!r} cannot be a key")
    if not isinstance(asked, dict):
        return [Condition(key, "$eq", (_operand(asked),))]
    if not asked or set(asked) - _OPERATORS:
        raise invalid(f"{key!r} takes only {', '.join(sorted(_OPERATORS))}")
    lower, upper = _LOWER & set(asked), _UPPER & set(asked)
    if len(asked) > 1 and not (len(asked) == len(lower) + len(upper) and len(lower) == len(upper) == 1):
        raise invalid(f"{key!r} combines operators other than one lower and one upper bound")
    return [Condition(key, operator, _operands(operator, operand)) for operator, operand in asked.items()]


def _operands(operator: str, operand: object) -> tuple[Scalar, ...]:
    if operator in _LISTS:
        if not isinstance(operand, list) or not operand:
            raise invalid(f"{operator} takes a non-empty list")
        return tuple(_operand(value) for value in operand)
    value = _operand(operand)
    if operator in _RANGES and not isinstance(value, str | float):
        raise invalid(f"{operator} takes a string or a number")
    return (value,)


def _operand(value: object) -> Scalar:
    """Bring a value to the form in which it is indexed."""
    if isinstance(value, str):
        return truncated(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    raise invalid("a value must be a string, a number, a boolean or null")


def _lookup(metadata: Mapping[str, Any], key: str) -> object:
    """Follow a key whose dots mean nesting."""
    found: object = metadata
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _indexed(value: object, kind: str) -> Scalar:
    if kind == "string":
        return truncated(value) if isinstance(value, str) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _in_range(operator: str, value: Any, bound: Any) -> bool:  # noqa: ANN401 - two of one ordered type
    if operator == "$gt":
        return bool(value > bound)
    if operator == "$gte":
        return bool(value >= bound)
    if operator == "$lt":
        return bool(value < bound)
    return bool(value <= bound)
