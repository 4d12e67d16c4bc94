"""Reads the lines of the format that docs/format.md describes, and trusts none of them."""

import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from app.domain import limits
from app.domain.claim import MemoryType
from app.domain.embedding import Vector
from app.domain.errors import InvalidRequest
from app.domain.learned import Learned
from app.services.transfer.fields import (
    DECODER,
    bad,
    check_names,
    count_of,
    digest_of,
    moment_of,
    object_of,
    text_of,
    texts_of,
)
from app.services.transfer.lines import (
    FORMAT,
    VERSION,
    BadLineError,
    End,
    Line,
    Manifest,
    MemoryLine,
    hash_of,
)
from app.services.transfer.record import Record
from app.services.transfer.row_reading import read_row

_MEMORY_ID = re.compile(limits.MEMORY_ID_FORM)
_MESSAGE_ID = re.compile("[0-9a-f]{32}")
_LABEL = re.compile(r".{1,200}/([1-9][0-9]{0,5})")
_REQUIRED = ("id", "agent_id", "content", "metadata", "created_at", "hash")
_MOMENTS = {"occurred_at", "expires_at", "superseded_at", "forgotten_at"}
_OTHERS = {"session_id", "message_id", "run_id", "memory_type", "learned", "vector", "embedding"}
_MEMORY_NAMES = {"type", *_REQUIRED, *_MOMENTS, *_OTHERS}
_LEARNED_NAMES = {"message_ids", "topic", "search_queries"}
_MANIFEST_NAMES = {"type", "format", "version", "tenant", "agent_id", "memories", "embedding", "vectors"}
_END_NAMES = {"type", "memories", "rows", "hash"}
_UNIT_WITHIN = 0.01
"""A vector that was kept in half precision is a little off its length."""


def read_line(data: bytes) -> Line:
    """Read a line of any type.

    Raises:
        BadLineError: it is none, or over a limit, or its hash is not that of what it says.
    """
    try:
        value = DECODER.decode(data.decode())
    except (ValueError, RecursionError):
        raise BadLineError("is not valid JSON") from None
    if not isinstance(value, dict):
        raise BadLineError("is not a JSON object")
    kind = value.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise BadLineError("has a type that is not known")
    return read(value)


def _memory(value: dict[str, Any]) -> MemoryLine:
    given = value.get("id")
    id_ = given if isinstance(given, str) and _MEMORY_ID.fullmatch(given) else None
    try:
        check_names(value, _MEMORY_NAMES, _REQUIRED)
        if id_ is None:
            bad("id must be a memory's id, a ULID")
        vector, embedding = _vector(value)
        memory_type, learned = _learned(value)
        record = Record(
            agent_id=text_of(value, "agent_id"),
            content=text_of(value, "content"),
            metadata=object_of(value, "metadata"),
            id=id_,
            session_id=text_of(value, "session_id") if "session_id" in value else None,
            occurred_at=moment_of(value, "occurred_at"),
            created_at=moment_of(value, "created_at"),
            expires_at=moment_of(value, "expires_at"),
            superseded_at=moment_of(value, "superseded_at"),
            forgotten_at=moment_of(value, "forgotten_at"),
            message_id=_message_id(value),
            memory_type=memory_type,
            learned=learned,
            run_id=_run_id(value),
            vector=vector,
            embedding=embedding,
        )
        check(record)
        if hash_of(record) != digest_of(value):
            bad("the hash is not that of the memory")
    except BadLineError as error:
        raise BadLineError(error.detail, id_) from None
    return MemoryLine(record, value["hash"])


def check(record: Record) -> None:
    """Hold a memory against the limits of a store.

    Raises:
        BadLineError: a field is over its limits.
    """
    try:
        record.check_bounds(("agent_id", limits.AGENT_ID, record.agent_id))
    except InvalidRequest as error:
        raise BadLineError(error.detail.removesuffix("."), record.id) from None


def _manifest(value: dict[str, Any]) -> Manifest:
    if value.get("format") != FORMAT:
        bad("is the manifest of another format")
    version = count_of(value, "version")
    if version > VERSION:
        return Manifest("", None, 0, (), vectors=False, version=version)
    check_names(value, _MANIFEST_NAMES, _MANIFEST_NAMES - {"agent_id"})
    embedding, vectors = value["embedding"], value["vectors"]
    if not isinstance(embedding, list) or not all(isinstance(label, str) for label in embedding):
        bad("embedding must be a list of texts")
    if not isinstance(vectors, bool):
        bad("vectors must be true or false")
    agent_id = text_of(value, "agent_id") if "agent_id" in value else None
    return Manifest(text_of(value, "tenant"), agent_id, count_of(value, "memories"), embedding, vectors, version)


def _end(value: dict[str, Any]) -> End:
    check_names(value, _END_NAMES, _END_NAMES - {"rows"})
    return End(count_of(value, "memories"), count_of(value, "rows") if "rows" in value else 0, digest_of(value))


_READERS: Mapping[str, Callable[[dict[str, Any]], Line]] = {
    "manifest": _manifest,
    "memory": _memory,
    "tier": read_row,
    "end": _end,
}


def _run_id(value: Mapping[str, Any]) -> str | None:
    if "run_id" not in value:
        return None
    run_id = text_of(value, "run_id")
    if not _MEMORY_ID.fullmatch(run_id):
        bad("run_id must be a run's id, a ULID")
    return run_id


def _message_id(value: Mapping[str, Any]) -> str | None:
    if "message_id" not in value:
        return None
    message_id = text_of(value, "message_id")
    if not _MESSAGE_ID.fullmatch(message_id):
        bad("message_id must be 32 hexadecimal digits")
    return message_id


def _learned(value: Mapping[str, Any]) -> tuple[MemoryType | None, Learned | None]:
    if "learned" not in value and "memory_type" not in value:
        return None, None
    if "learned" not in value or "memory_type" not in value:
        bad("memory_type and learned belong together")
    if "message_id" in value:
        bad("a message is not learned")
    type_, fields = value["memory_type"], object_of(value, "learned")
    if type_ not in get_args(MemoryType):
        bad(f"memory_type must be one of {', '.join(get_args(MemoryType))}")
    check_names(fields, _LEARNED_NAMES, {"message_ids"})
    ids = texts_of(fields, "message_ids", limits.MAX_MESSAGES)
    if not ids or not all(map(_MESSAGE_ID.fullmatch, ids)):
        bad("message_ids must be the ids of messages, 32 hexadecimal digits each")
    topic = text_of(fields, "topic") if "topic" in fields else None
    queries = texts_of(fields, "search_queries", limits.MAX_SEARCH_QUERIES) if "search_queries" in fields else ()
    bounded = [("topic", limits.TOPIC, topic), *(("search_queries", limits.SEARCH_QUERY, each) for each in queries)]
    try:
        limits.check(*bounded)
    except InvalidRequest as error:
        bad(error.detail.removesuffix("."))
    return type_, Learned(ids, topic, queries)


def _vector(value: Mapping[str, Any]) -> tuple[Vector | None, str | None]:
    if "vector" not in value and "embedding" not in value:
        return None, None
    if "vector" not in value or "embedding" not in value:
        bad("vector and embedding belong together")
    label = _LABEL.fullmatch(text_of(value, "embedding"))
    if label is None:
        bad("embedding must be provider/model/dimensions")
    try:
        data = binascii.a2b_base64(text_of(value, "vector"), strict_mode=True)
    except (binascii.Error, ValueError):
        bad("vector is not base64")
    if len(data) != 4 * int(label[1]):
        bad("vector has not as many numbers as its embedding has dimensions")
    values = np.frombuffer(data, "<f4").astype(np.float32, copy=False)
    # What is no number is not within either bound; what is far too large must not be squared.
    if not (np.abs(values).max() <= 1 + _UNIT_WITHIN and abs(float(values @ values) - 1) <= 2 * _UNIT_WITHIN):
        bad("vector is not of unit length")
    return values, value["embedding"]
