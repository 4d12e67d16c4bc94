"""The JSON schemas of values that may be any JSON: metadata, filters of metadata, specifications, values of runs."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.domain import limits
from app.domain.limits import MAX_NUMBER, METADATA_BYTES, METADATA_DEPTH, NO_NUL

# These bounds are doubles, and MAX_NUMBER is not: a reader of doubles would round it and let the next number pass.
_BOUNDS = {"exclusiveMinimum": -MAX_NUMBER - 1, "exclusiveMaximum": MAX_NUMBER + 1}
# openapi-generator makes no class of a union that names every type one by one.
_SCALARS: list[dict[str, Any]] = [
    {"type": "string", "pattern": NO_NUL},
    {"type": "integer", **_BOUNDS},
    {"type": "number", **_BOUNDS},
    {"type": ["boolean", "null"]},
]


def _open_object(value: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an object with any keys, whose values have the schema ``value``.

    Generators of clients read that the object is open, and pass over the condition; a union or a recursive type in the
    place of any value stops some generators, and the others make classes of it that are a burden to fill.
    """
    return {
        "type": "object",
        "additionalProperties": True,
        "if": {"type": "object"},
        "then": {"propertyNames": {"pattern": NO_NUL}, "additionalProperties": value},
    }


def _values() -> Iterator[tuple[str, dict[str, Any]]]:
    """Describe values by how deep they may still be nested: there is a schema for each depth, and none is recursive."""
    inner: dict[str, Any] = {"anyOf": _SCALARS}
    for depth in range(1, limits.JSON_DEPTH + 1):
        yield f"value_{depth}", {"anyOf": [*_SCALARS, {"type": "array", "items": inner}, _open_object(inner)]}
        inner = _value(depth)


def _value(depth: int) -> dict[str, Any]:
    """Describe a value that may be nested ``depth`` deep."""
    return {"$ref": f"{_VALUES_AT}value_{depth}"}


_VALUES_AT = "#/components/schemas/StoreRequest/properties/metadata/if/$defs/"
METADATA_SCHEMA: dict[str, Any] = {
    **_open_object(_value(METADATA_DEPTH - 1)),
    "if": {"type": "object", "$defs": dict(_values())},
    "description": f"At most {METADATA_BYTES} bytes as JSON, nested at most {METADATA_DEPTH} deep.",
}
SPEC_SCHEMA: dict[str, Any] = {
    **_open_object(_value(limits.JSON_DEPTH - 1)),
    "description": (
        f"What is done, in the caller's own form. At most {limits.WORKFLOW_SPEC_BYTES} bytes as JSON, nested at most "
        f"{limits.JSON_DEPTH} deep."
    ),
}
FILTER_METADATA_SCHEMA: dict[str, Any] = {
    **_open_object({"anyOf": _SCALARS}),
    "maxProperties": limits.MAX_FILTER_KEYS,
    "description": "Each key must be present with an equal value of the same type.",
}
ANY_OBJECT_SCHEMA: dict[str, Any] = _open_object(_value(limits.JSON_DEPTH - 1))
"""The schema of an object with any keys and values."""
ANY_JSON_SCHEMA: dict[str, Any] = {"if": {"not": {"const": ""}}, "then": _value(limits.JSON_DEPTH)}
"""The schema of a value of any type: generators of clients read no type from it, and pass over the condition."""
