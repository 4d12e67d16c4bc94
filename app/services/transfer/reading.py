"""Reads the lines of the format that docs/format.md describes, and trusts none of them."""

import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NoReturn, get_args

import numpy as np

from app.domain import limits
from app.domain.claim import MemoryType
from app.domain.embedding import Vector
from app.domain.errors import InvalidRequest
from app.domain.learned import Learned
from app.domain.moments import milliseconds, parse_moment
from app.services.transfer.lines import (
    FORMAT,
    VERSION,
    BadLineError,
    End,
    Line,
    Manifest,
    MemoryLine,
    RowLine,
    hash_of,
    hash_of_row,
    held,
)
from app.services.transfer.record import Record
from app.storage.tiers.tables import TIER_TABLES, TierTable

_MEMORY_ID = re.compile(limits.MEMORY_ID_FORM)
_HASH = re.compile("[0-9a-f]{64}")
_MESSAGE_ID = re.compile("[0-9a-f]{32}")
_LABEL = re.compile(r".{1,200}/([1-9][0-9]{0,5})")
_REQUIRED = ("id", "agent_id", "content", "metadata", "created_at", "hash")
_MOMENTS = {"occurred_at", "expires_at", "superseded_at", "forgotten_at"}
_OTHERS = {"session_id", "message_id", "memory_type", "learned", "vector", "embedding"}
_MEMORY_NAMES = {"type", *_REQUIRED, *_MOMENTS, *_OTHERS}
_LEARNED_NAMES = {"message_ids", "topic", "search_queries"}
_MANIFEST_NAMES = {"type", "format", "version", "tenant", "agent_id", "memories", "embedding", "vectors"}
_END_NAMES = {"type", "memories", "rows", "hash"}
_ROW_NAMES = {"type", "kind", "row", "hash"}
_TIERS: Mapping[str, TierTable] = {tier.kind: tier for tier in TIER_TABLES if tier.travels}
_AGENT_ID = re.compile(limits.ID_FORM)
_NAMES = {"agent_id", "agent_type", "instance", "task_type"}
"""Columns, in whatever table, that hold what has the form of an agent's id."""
_LARGEST = 2**63 - 1
_UNIT_WITHIN = 0.01
"""A vector that was kept in half precision is a little off its length."""


def read_line(data: bytes) -> Line:
    """Read a line of any type.

    Raises:
        BadLineError: it is none, or over a limit, or its hash is not that of what it says.
    """
    try:
        value = _DECODER.decode(data.decode())
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
        _names(value, _MEMORY_NAMES, _REQUIRED)
        if id_ is None:
            _bad("id must be a memory's id, a ULID")
        vector, embedding = _vector(value)
        memory_type, learned = _learned(value)
        record = Record(
            agent_id=_text(value, "agent_id"),
            content=_text(value, "content"),
            metadata=_object(value, "metadata"),
            id=id_,
            session_id=_text(value, "session_id") if "session_id" in value else None,
            occurred_at=_moment(value, "occurred_at"),
            created_at=_moment(value, "created_at"),
            expires_at=_moment(value, "expires_at"),
            superseded_at=_moment(value, "superseded_at"),
            forgotten_at=_moment(value, "forgotten_at"),
            message_id=_message_id(value),
            memory_type=memory_type,
            learned=learned,
            vector=vector,
            embedding=embedding,
        )
        check(record)
        if hash_of(record) != _digest(value):
            _bad("the hash is not that of the memory")
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
        _bad("is the manifest of another format")
    version = _count(value, "version")
    if version > VERSION:
        return Manifest("", None, 0, (), vectors=False, version=version)
    _names(value, _MANIFEST_NAMES, _MANIFEST_NAMES - {"agent_id"})
    embedding, vectors = value["embedding"], value["vectors"]
    if not isinstance(embedding, list) or not all(isinstance(label, str) for label in embedding):
        _bad("embedding must be a list of texts")
    if not isinstance(vectors, bool):
        _bad("vectors must be true or false")
    agent_id = _text(value, "agent_id") if "agent_id" in value else None
    return Manifest(_text(value, "tenant"), agent_id, _count(value, "memories"), embedding, vectors, version)


def _end(value: dict[str, Any]) -> End:
    _names(value, _END_NAMES, _END_NAMES - {"rows"})
    return End(_count(value, "memories"), _count(value, "rows") if "rows" in value else 0, _digest(value))


def _row(value: dict[str, Any]) -> RowLine:
    _names(value, _ROW_NAMES, _ROW_NAMES)
    kind, row = _text(value, "kind"), _object(value, "row")
    tier = _TIERS.get(kind)
    if tier is None:
        _bad("is of a kind that is not known")
    given = row.get("id")
    try:
        _check_row(tier, row)
        if hash_of_row(kind, row) != _digest(value):
            _bad("the hash is not that of the row")
    except BadLineError as error:
        id_ = given if isinstance(given, str) and _MEMORY_ID.fullmatch(given) else None
        raise BadLineError(error.detail, id_) from None
    return RowLine(tier, held(tier, row), value["hash"])


def _check_row(tier: TierTable, row: Mapping[str, Any]) -> None:
    """Hold a row against the declaration of its table, whose own rules decide the rest.

    Raises:
        BadLineError: it has other columns, or a value that no column can have.
    """
    if "tenant_id" in row:
        _bad("a row names no tenant: it is that of the credential")
    if unknown := row.keys() - set(tier.columns):
        _bad(f"the row has a column that is not known: {min(unknown)[:40]!a}")
    needed = {*tier.key, *(["agent_id"] if tier.of_agent else [])}
    if missing := [column for column in sorted(needed) if row.get(column) is None]:
        _bad(f"the row lacks {' and '.join(missing)}")
    for column, value in row.items():
        if not (value is None or _is_text(value) or _is_number(value)):
            _bad(f"{column} must be a text, a number or null")
    _check_names(tier, row)
    _check_key(tier, row)
    for column in tier.json:
        if row.get(column) is not None and not _is_json(row[column]):
            _bad(f"{column} must be a text that is valid JSON")


def _check_key(tier: TierTable, row: Mapping[str, Any]) -> None:
    for column in tier.key:
        # A database would turn the one into the other, and the row would not be found under the key that it came with.
        if column in tier.integers and not _is_integer(row[column]):
            _bad(f"{column} must be an integer")
        if column not in tier.integers and not isinstance(row[column], str):
            _bad(f"{column} must be a text")


def _is_integer(value: object) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _check_names(tier: TierTable, row: Mapping[str, Any]) -> None:
    """Hold to the form of an agent's id whatever has it in the table."""
    for column in sorted(_NAMES & row.keys()):
        value = row[column]
        if value is None or (column == "agent_id" and tier.unnamed and value == ""):
            continue
        if not (isinstance(value, str) and _AGENT_ID.fullmatch(value)):
            _bad(f"{column} must have the form of an agent's id")


def _is_json(value: object) -> bool:
    """Whether a column's value is a text of JSON."""
    if not isinstance(value, str):
        return False
    try:
        _DECODER.decode(value)
    except (ValueError, RecursionError):
        return False
    return True


def _is_text(value: object) -> bool:
    """Whether it is a text that a database keeps: without NUL and without half a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def _is_number(value: object) -> bool:
    return (type(value) is int and abs(value) <= _LARGEST) or (type(value) is float and isfinite(value))


_READERS: Mapping[str, Callable[[dict[str, Any]], Line]] = {
    "manifest": _manifest,
    "memory": _memory,
    "tier": _row,
    "end": _end,
}


def _bad(detail: str) -> NoReturn:
    raise BadLineError(detail)


def _names(value: Mapping[str, Any], known: set[str], required: Sequence[str] | set[str]) -> None:
    if "tenant" in value and "tenant" not in known:
        _bad("a memory names no tenant: it is that of the credential")
    if unknown := value.keys() - known:
        _bad(f"has a field that is not known: {min(unknown)[:40]!a}")
    if missing := [name for name in sorted(required) if name not in value]:
        _bad(f"lacks {' and '.join(missing)}")


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value[name]
    if not isinstance(text, str):
        _bad(f"{name} must be a text")
    return text


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value[name]
    if not isinstance(found, dict):
        _bad(f"{name} must be an object")
    return found


def _count(value: Mapping[str, Any], name: str) -> int:
    number = value.get(name)
    if type(number) is not int or number < 0:
        _bad(f"{name} must be a whole number")
    return number


def _digest(value: Mapping[str, Any]) -> str:
    digest = value["hash"]
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        _bad("hash must be a SHA-256 in hex")
    return digest


def _moment(value: Mapping[str, Any], name: str) -> int | None:
    if name not in value:
        return None
    try:
        return milliseconds(parse_moment(_text(value, name)))
    except ValueError as error:
        raise BadLineError(f"{name} {error}") from None


def _message_id(value: Mapping[str, Any]) -> str | None:
    if "message_id" not in value:
        return None
    message_id = _text(value, "message_id")
    if not _MESSAGE_ID.fullmatch(message_id):
        _bad("message_id must be 32 hexadecimal digits")
    return message_id


def _learned(value: Mapping[str, Any]) -> tuple[MemoryType | None, Learned | None]:
    if "learned" not in value and "memory_type" not in value:
        return None, None
    if "learned" not in value or "memory_type" not in value:
        _bad("memory_type and learned belong together")
    if "message_id" in value:
        _bad("a message is not learned")
    type_, fields = value["memory_type"], _object(value, "learned")
    if type_ not in get_args(MemoryType):
        _bad(f"memory_type must be one of {', '.join(get_args(MemoryType))}")
    _names(fields, _LEARNED_NAMES, {"message_ids"})
    ids = _texts(fields, "message_ids", limits.MAX_MESSAGES)
    if not ids or not all(map(_MESSAGE_ID.fullmatch, ids)):
        _bad("message_ids must be the ids of messages, 32 hexadecimal digits each")
    topic = _text(fields, "topic") if "topic" in fields else None
    queries = _texts(fields, "search_queries", limits.MAX_SEARCH_QUERIES) if "search_queries" in fields else ()
    bounded = [("topic", limits.TOPIC, topic), *(("search_queries", limits.SEARCH_QUERY, each) for each in queries)]
    try:
        limits.check(*bounded)
    except InvalidRequest as error:
        _bad(error.detail.removesuffix("."))
    return type_, Learned(ids, topic, queries)


def _texts(value: Mapping[str, Any], name: str, most: int) -> Sequence[str]:
    texts = value[name]
    if not isinstance(texts, list) or len(texts) > most or not all(isinstance(text, str) for text in texts):
        _bad(f"{name} must be a list of at most {most} texts")
    return texts


def _vector(value: Mapping[str, Any]) -> tuple[Vector | None, str | None]:
    if "vector" not in value and "embedding" not in value:
        return None, None
    if "vector" not in value or "embedding" not in value:
        _bad("vector and embedding belong together")
    label = _LABEL.fullmatch(_text(value, "embedding"))
    if label is None:
        _bad("embedding must be provider/model/dimensions")
    try:
        data = binascii.a2b_base64(_text(value, "vector"), strict_mode=True)
    except (binascii.Error, ValueError):
        _bad("vector is not base64")
    if len(data) != 4 * int(label[1]):
        _bad("vector has not as many numbers as its embedding has dimensions")
    values = np.frombuffer(data, "<f4").astype(np.float32, copy=False)
    # What is no number is not within either bound; what is far too large must not be squared.
    if not (np.abs(values).max() <= 1 + _UNIT_WITHIN and abs(float(values @ values) - 1) <= 2 * _UNIT_WITHIN):
        _bad("vector is not of unit length")
    return values, value["embedding"]


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
