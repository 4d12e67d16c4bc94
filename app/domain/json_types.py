"""JSON values as types, and the one form in which JSON is written."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Json: TypeAlias = "Scalar | Sequence[Json] | Mapping[str, Json]"

to_json: Callable[[Json], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Writes compact JSON; the one form in which JSON is stored, measured and sent."""
_in_order: Callable[[Json], str] = json.JSONEncoder(sort_keys=True).encode


def same_json(one: Json, other: Json) -> bool:
    """Tell whether two values are the same JSON, whatever the order of their keys."""
    return _in_order(one) == _in_order(other)
