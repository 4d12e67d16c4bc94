"""Reads vectors as they are sent: newline-delimited JSON, raw or in a form.

https://developers.cloudflare.com/vectorize/best-practices/insert-vectors/ and
https://developers.cloudflare.com/vectorize/platform/limits/
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import orjson

from memory_gateway_double.multipart import form_field
from memory_gateway_double.v4 import refused
from memory_gateway_double.wire import Refusal, Request

Matrix = npt.NDArray[np.float32]

MAX_VECTORS = 5_000
BODY_BYTES = 100_000_000
ID_BYTES = 64
METADATA_BYTES = 10_240
NAMESPACE_BYTES = 64

TOO_MANY_VECTORS = 40006
ID_TOO_LONG = 40008
NAMESPACE_TOO_LONG = 40009
WRONG_DIMENSIONS = 40012
INVALID_METADATA = 40014
METADATA_TOO_LARGE = 40016
UNPARSABLE = 40023
_UNKNOWN_CONTENT_TYPE = 1005


@dataclass(frozen=True, slots=True)
class Given:
    """One vector as it was sent, without its values."""

    id: str
    namespace: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors as they were sent; row n of ``values`` belongs to ``given[n]``."""

    given: list[Given]
    values: Matrix


def body_of(request: Request) -> bytes:
    """Return the newline-delimited JSON, raw or from the form field ``vectors``.

    Raises:
        Refusal: the content type is neither, or the body is too large.
    """
    if len(request.body) > BODY_BYTES:
        raise refused(413, UNPARSABLE, "the request is larger than 100 MB")
    if request.content_type == "application/x-ndjson":
        return request.body
    if request.content_type == "multipart/form-data":
        field = form_field(request.headers["content-type"], request.body, "vectors")
        if field is not None:
            return field
    raise refused(400, _UNKNOWN_CONTENT_TYPE, "vectorize.unknown_content_type")


def read_vectors(body: bytes, dimensions: int, *, operation: str, discard: bool = False) -> Vectors:
    """Read the lines; with ``discard`` those that cannot be parsed are left out.

    Raises:
        Refusal: a line cannot be parsed or breaks a limit; nothing is written.
    """
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > MAX_VECTORS:
        raise refused(
            400, TOO_MANY_VECTORS, f"too many vectors in payload; max count is {MAX_VECTORS}, got {len(lines)}"
        )
    given: list[Given] = []
    values = np.empty((len(lines), dimensions), np.float32)
    for number, line in enumerate(lines, start=1):
        try:
            content = _parse(line)
        except ValueError as error:
            if discard:
                continue
            raise _unparsable(operation, number, str(error)) from error
        vector = content["values"]
        if len(vector) != dimensions:
            message = f'invalid vector for id="{content["id"]}", expected {dimensions} dimensions, and got '
            raise refused(400, WRONG_DIMENSIONS, f"{message}{len(vector)} dimensions")
        values[len(given)] = as_float32(vector, content["id"])
        given.append(_checked(content))
    if not given and not discard:
        raise _unparsable(operation, 1, "no vectors")
    return Vectors(given, values[: len(given)])


def as_float32(vector: list[float], id_: str) -> Matrix:
    """Return the numbers of a vector.

    Raises:
        Refusal: one does not fit.
    """
    with np.errstate(over="ignore"):
        values = np.array(vector, np.float32)
    if not np.isfinite(values).all():
        raise refused(400, WRONG_DIMENSIONS, f'invalid vector for id="{id_}", a value is not a finite float32')
    return values


def _unparsable(operation: str, line: int, reason: str) -> Refusal:
    message = f"failed to parse {operation} vectors request in ndjson format: line {line}: {reason}"
    return refused(400, UNPARSABLE, message)


def _parse(line: bytes) -> dict[str, Any]:
    """Read one line and check its form.

    Raises:
        ValueError: it is not a vector.
    """
    content = orjson.loads(line)
    id_, values = _field(content, "id"), _field(content, "values")
    wrong = {
        "missing field `id`": not (isinstance(id_, str) and id_),
        "missing field `values`": not isinstance(values, list) or not set(map(type, values)) <= {float, int},
        "metadata: expected an object": not isinstance(_field(content, "metadata") or {}, dict),
        "namespace: expected a string": not isinstance(_field(content, "namespace") or "", str),
    }
    for reason, holds in wrong.items():
        if holds:
            raise ValueError(reason)
    return cast("dict[str, Any]", content)


def _field(content: object, name: str) -> object:
    return content.get(name) if isinstance(content, dict) else None


def _checked(content: dict[str, Any]) -> Given:
    id_, namespace, metadata = content["id"], content.get("namespace") or "", content.get("metadata") or {}
    if (size := len(id_.encode())) > ID_BYTES:
        raise refused(400, ID_TOO_LONG, f"id too long; max is {ID_BYTES} bytes, got {size} bytes")
    if (size := len(namespace.encode())) > NAMESPACE_BYTES:
        message = f"namespace too long; max is {NAMESPACE_BYTES} bytes, got {size} bytes"
        raise refused(400, NAMESPACE_TOO_LONG, message)
    if (size := len(orjson.dumps(metadata))) > METADATA_BYTES:
        message = f'oversized metadata for vector id="{id_}"; the compact JSON representation of the metadata '
        raise refused(400, METADATA_TOO_LARGE, f"{message}must not exceed {METADATA_BYTES} bytes, got {size} bytes")
    _check_metadata(id_, metadata)
    return Given(id_, namespace, metadata)


def _check_metadata(id_: str, metadata: dict[str, Any]) -> None:
    for key, value in metadata.items():
        if not key or "." in key or '"' in key or key.startswith("$"):
            raise refused(400, INVALID_METADATA, f'invalid metadata for vector id="{id_}": key {key!r}')
        if isinstance(value, dict):
            _check_metadata(id_, value)
        elif isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise refused(400, INVALID_METADATA, f'invalid metadata for vector id="{id_}": value of {key!r}')
