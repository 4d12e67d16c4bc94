"""Makes queries for Vectorize: a vector, and a filter as far as the index applies it as exactly as the database does.

https://developers.cloudflare.com/vectorize/reference/metadata-filtering/
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson

from app.domain.embedding import Vector
from app.domain.json_types import Json, Scalar
from app.domain.memory import Scope
from app.domain.query import Filter

IndexType: TypeAlias = Literal["string", "number", "boolean"]

TYPES: Mapping[IndexType, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}

# https://developers.cloudflare.com/vectorize/platform/limits/
INDEXED_BYTES = 64
_FILTER_BYTES = 2_048
_EXACT_INTEGER = 2**53


def question(vector: Vector, top_k: int, condition: Mapping[str, Json]) -> Mapping[str, Any]:
    """Return the body of a query for ids and scores."""
    return {
        "vector": np.ascontiguousarray(vector),
        "topK": top_k,
        "returnValues": False,
        "returnMetadata": "none",
        "filter": condition,
    }


def condition(scope: Scope, where: Filter, filterable: Mapping[str, IndexType]) -> tuple[Mapping[str, Json], bool]:
    """Return the filter of a query, always with its scope, and whether this filter has all of ``where``."""
    found: dict[str, Json] = {"tenant_id": scope.tenant_id, "agent_id": scope.agent_id, **_of_time(where)}
    in_full = not where.looks_into_the_database
    for key, value in where.metadata.items():
        if _applies(filterable.get(key), value) and _fits(longer := {key: value, **found}):
            found = longer
        else:
            in_full = False
    return found, in_full


def _applies(kind: IndexType | None, value: Scalar) -> bool:
    """Return whether the index compares this value of a key of this type as exactly as the database does."""
    if kind is None or not isinstance(value, TYPES[kind]) or (kind == "number" and isinstance(value, bool)):
        return False
    if isinstance(value, str):
        return len(value.encode()) < INDEXED_BYTES
    return isinstance(value, bool) or abs(value or 0) <= _EXACT_INTEGER


def _fits(filter_: Mapping[str, Json]) -> bool:
    return len(orjson.dumps(filter_)) < _FILTER_BYTES


def _of_time(where: Filter) -> dict[str, Json]:
    bounds: dict[str, Json] = {}
    if where.created_after is not None:
        bounds["$gt"] = where.created_after
    if where.created_before is not None:
        bounds["$lt"] = where.created_before
    return {"created_at": bounds} if bounds else {}
