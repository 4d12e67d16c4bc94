"""Reads Vectorize's responses into the types of the port; an unexpected response is an ``UpstreamRejected``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.domain.embedding import Vector, same_text
from app.domain.errors import UpstreamRejected
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.ports.index_admin import Expected, IdPage, IndexRecord
from app.ports.vector_index import Hit

NO_SUCH_INDEX = frozenset({3000, 3005})
"""Codes of the refusal of a call for an index that does not exist, or no longer."""
_REVISION = "revision"
NOT_OURS = IndexRecord(Scope("", ""), 0, "")
"""A vector of another writer: its metadata names no scope, and no scope of this service has empty names."""


def read_hits(result: Any) -> list[Hit]:  # noqa: ANN401 - as JSON has it
    """Read the response of ``query``."""
    matches = result.get("matches") if isinstance(result, dict) else None
    if not isinstance(matches, list):
        raise UpstreamRejected("Vectorize answered a query without matches.")
    return [_hit(match) for match in matches]


def read_held(result: Any) -> dict[str, IndexRecord]:  # noqa: ANN401 - the same
    """Read the response of ``get_by_ids``, which is null where the index shows none of the ids."""
    if result is None:
        return {}
    readable = isinstance(result, list) and all(
        isinstance(vector, dict)
        and isinstance(vector.get("id"), str)
        and isinstance(vector.get("metadata") or {}, dict)
        for vector in result
    )
    if not readable:
        raise UpstreamRejected("Vectorize answered vectors in another form.")
    return {vector["id"]: _held(vector.get("metadata") or {}) for vector in result}


def read_vectors(result: Any, tenant_id: str, dimensions: int) -> dict[str, Vector]:  # noqa: ANN401 - the same
    """Read the values of the tenant's vectors from the response of ``get_by_ids``."""
    own = {id_ for id_, held in read_held(result).items() if held.scope.tenant_id == tenant_id}
    try:
        found = {vector["id"]: np.array(vector["values"], np.float32) for vector in result or () if vector["id"] in own}
    except (KeyError, TypeError, ValueError) as error:
        raise UpstreamRejected("Vectorize answered vectors without their values.") from error
    if any(values.shape != (dimensions,) for values in found.values()):
        raise UpstreamRejected("Vectorize answered vectors of another length.")
    return found


def read_agreement(
    result: Any,  # noqa: ANN401 - the same
    wanted: Mapping[str, tuple[Expected, Mapping[str, Json]]],
) -> dict[str, bool]:
    """Read the response of ``get_by_ids``: whether each vector has the metadata, and the values, that are wanted."""
    read_held(result)  # refuses another form
    return {vector["id"]: _is_as(vector, *wanted[vector["id"]]) for vector in result or () if vector["id"] in wanted}


def _is_as(vector: Mapping[str, Any], expected: Expected, metadata: Mapping[str, Json]) -> bool:
    shown = {key: value for key, value in (vector.get("metadata") or {}).items() if key != _REVISION}
    if shown != metadata:
        return False
    if expected.values is None:
        return True
    try:
        return same_text(np.array(vector["values"], np.float32), expected.values)
    except (KeyError, TypeError, ValueError) as error:
        raise UpstreamRejected("Vectorize answered vectors without their values.") from error


def read_listing(result: Any) -> IdPage:  # noqa: ANN401 - the same
    """Read the response of ``list``; a truncated listing would make vectors appear to be absent."""
    try:
        vectors, truncated, cursor = result["vectors"], result["isTruncated"], result.get("nextCursor")
        ids = [vector["id"] for vector in vectors]
    except (AttributeError, KeyError, TypeError) as error:
        raise UpstreamRejected("Vectorize listed its vectors in another form.") from error
    readable = isinstance(vectors, list) and isinstance(truncated, bool) and all(isinstance(id_, str) for id_ in ids)
    if not readable or (truncated and not (isinstance(cursor, str) and cursor)):
        raise UpstreamRejected("Vectorize listed its vectors in another form.")
    return IdPage(ids, cursor if truncated else None)


def read_metadata_indexes(result: Any) -> dict[str, str]:  # noqa: ANN401 - the same
    """Read the response of ``metadata_index/list``: the type of every key that has a metadata index."""
    try:
        return {entry["propertyName"]: entry["indexType"] for entry in result["metadataIndexes"]}
    except (KeyError, TypeError) as error:
        raise UpstreamRejected("Vectorize listed its metadata indexes in another form.") from error


def _hit(match: Any) -> Hit:  # noqa: ANN401 - the same
    try:
        return Hit(str(match["id"]), max(-1.0, min(1.0, float(match["score"]))))
    except (KeyError, TypeError, ValueError) as error:
        raise UpstreamRejected("Vectorize answered a match without id or score.") from error


def _held(metadata: Mapping[str, Any]) -> IndexRecord:
    tenant_id, agent_id = metadata.get("tenant_id"), metadata.get("agent_id")
    if not isinstance(tenant_id, str) or not isinstance(agent_id, str):
        return NOT_OURS
    revision, embedding = metadata.get("revision"), metadata.get("embedding")
    return IndexRecord(Scope(tenant_id, agent_id), _whole(revision), embedding if isinstance(embedding, str) else "")


def _whole(number: Any) -> int:  # noqa: ANN401 - the same
    """Return an integer, also one that the index returns as a float; 0 for anything else."""
    if isinstance(number, float):
        return int(number) if number.is_integer() else 0
    return number if isinstance(number, int) and not isinstance(number, bool) else 0
