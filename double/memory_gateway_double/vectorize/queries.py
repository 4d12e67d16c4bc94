"""Reads the body of a query and writes its matches.

https://developers.cloudflare.com/vectorize/best-practices/query-vectors/
"""

from dataclasses import dataclass
from typing import Any

from memory_gateway_double.v4 import NOT_JSON, refused
from memory_gateway_double.vectorize.index import Index
from memory_gateway_double.vectorize.matrix import Stored
from memory_gateway_double.vectorize.records import Matrix, as_float32
from memory_gateway_double.wire import Refusal

WRONG_QUERY_DIMENSIONS = 40006
TOP_K = 40025

_TOP_K = 5
_MAX_TOP_K = 100
_TOP_K_MOST_WITH_CONTENT = 50
_METADATA = ("none", "indexed", "all")
_UNPARSED = "Failed to parse the request body as JSON"


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it was asked, within the limits."""

    vector: Matrix | str
    top_k: int
    where: object
    namespace: str | None
    values: bool
    metadata: str


def read_query(body: dict[str, Any], dimensions: int) -> Query:
    """Read a query.

    Raises:
        Refusal: it breaks a limit, or a field has another type.
    """
    metadata = body.get("returnMetadata", "none")
    if not isinstance(metadata, str) or metadata not in _METADATA:
        raise _unparsed("returnMetadata: expected value")
    values = body.get("returnValues", False)
    if not isinstance(values, bool):
        raise _unparsed("returnValues: expected a boolean")
    namespace = body.get("namespace")
    if not isinstance(namespace, str | None):
        raise _unparsed("namespace: expected a string")
    top_k = _top_k(body.get("topK", _TOP_K), with_content=values or metadata == "all")
    return Query(_vector(body, dimensions), top_k, body.get("filter"), namespace, values, metadata)


def answer(index: Index, query: Query) -> dict[str, object]:
    """Run a query and write its result."""
    hits = index.search(query.vector, query.top_k, query.where, query.namespace, exact=query.values)
    matches = [_match(index, query, stored, score, values) for stored, score, values in hits]
    return {"count": len(matches), "matches": matches}


def described(stored: Stored, values: Matrix) -> dict[str, object]:
    """Write a whole vector, as ``get_by_ids`` does."""
    content: dict[str, object] = {"id": stored.given.id, "values": values}
    if stored.given.namespace:
        content["namespace"] = stored.given.namespace
    if stored.given.metadata:
        content["metadata"] = stored.given.metadata
    return content


def _match(index: Index, query: Query, stored: Stored, score: float, values: Matrix | None) -> dict[str, object]:
    match: dict[str, object] = {"id": stored.given.id, "score": score}
    if stored.given.namespace:
        match["namespace"] = stored.given.namespace
    if query.metadata == "all":
        match["metadata"] = stored.given.metadata
    elif query.metadata == "indexed":
        match["metadata"] = index.shown(stored)
    if values is not None:
        match["values"] = values
    return match


def _top_k(given: object, *, with_content: bool) -> int:
    if type(given) is not int or given < 1:
        raise _unparsed("topK: expected a positive integer")
    if with_content and given > _TOP_K_MOST_WITH_CONTENT:
        raise refused(
            400,
            TOP_K,
            f"with returnValues=true or returnMetadata=all, max top K is {_TOP_K_MOST_WITH_CONTENT}, but got {given}; "
            f"for a top K up to {_MAX_TOP_K}, retry with returnValues=false and returnMetadata=indexed",
        )
    if given > _MAX_TOP_K:
        raise refused(400, TOP_K, f"max top K is {_MAX_TOP_K}, but got {given}")
    return given


def _vector(body: dict[str, Any], dimensions: int) -> Matrix | str:
    vector, vector_id = body.get("vector"), body.get("vectorId")
    if (vector is None) == (vector_id is None):
        raise _unparsed("expected exactly one of vector and vectorId")
    if vector_id is not None:
        if not isinstance(vector_id, str):
            raise _unparsed("vectorId: expected a string")
        return vector_id
    if not isinstance(vector, list) or not all(type(value) in {float, int} for value in vector):
        raise _unparsed("vector: expected a list of numbers")
    if len(vector) != dimensions:
        message = f"invalid query vector, expected {dimensions} dimensions, and got {len(vector)} dimensions"
        raise refused(400, WRONG_QUERY_DIMENSIONS, message)
    return as_float32(vector, "query")


def _unparsed(reason: str) -> Refusal:
    return refused(400, NOT_JSON, f"{_UNPARSED}: {reason}")
