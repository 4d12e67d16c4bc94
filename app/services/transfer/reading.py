"""Reads the lines of the format that docs/format.md describes, and checks every value in them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import Any

import numpy as np

from app.domain import limits
from app.domain.embedding import Vector
from app.domain.errors import InvalidRequest
from app.domain.json_types import Json
from app.services.transfer.fields import DECODER, BadLineError, bad
from app.services.transfer.lines import (
    END,
    FORMAT,
    HASH,
    MANIFEST,
    MEMORY_LINE,
    ROW,
    VERSION,
    VERSION_FIELD,
    End,
    FileLine,
    Line,
    Manifest,
    is_memory_id,
    memory_line,
    row_line,
    sha256,
)
from app.services.transfer.record import Record
from app.storage.tiers.tables import TIER_TABLES, TierTable

_TIERS: Mapping[str, TierTable] = {tier.kind: tier for tier in TIER_TABLES if tier.travels}
_AGENT_ID = re.compile(limits.ID_FORM)
_NAMES = ("agent_id", "agent_type", "instance", "task_type")
"""Columns, of any table, whose values have the form of an agent's id."""
_LARGEST = 2**63 - 1
_UNIT_WITHIN = 0.01
"""How far a vector may be off unit length: a vector that was kept in half precision is a little off."""


def read_line(data: bytes) -> FileLine:
    """Read a line of any type.

    Raises:
        BadLineError: the line is not of the format, is over a limit, or has not the hash of its content.
    """
    try:
        value = DECODER.decode(data.decode())
    except (ValueError, RecursionError):
        raise BadLineError("is not valid JSON") from None
    if not isinstance(value, dict):
        raise BadLineError("is not a JSON object")
    kind = value.pop("type", None)
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise BadLineError("has a type that is not known")
    return read(value)


def check(record: Record) -> None:
    """Check a memory against the limits of a store.

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
    if (version := VERSION_FIELD.read(value.get("version"))) > VERSION:
        return Manifest("", None, 0, (), vectors=False, version=version)
    return Manifest(**{"agent_id": None} | MANIFEST.read(value))


def _end(value: dict[str, Any]) -> End:
    return End(**END.read(value))


def _memory(value: dict[str, Any]) -> Line:
    with _of(value.get("id")):
        fields = MEMORY_LINE.read(value)
        if "learned" in fields and "message_id" in fields:
            bad("a message is not learned")
        if "vector" in fields:
            fields["vector"] = _unit_vector(fields["vector"], fields["embedding"])
        given = fields.pop("hash")
        record = Record(**fields)
        check(record)
        line = memory_line(record)
        _compare(given, line.hash, "memory")
        return line


def _row(value: dict[str, Any]) -> Line:
    fields = ROW.read(value)
    tier, row = _TIERS.get(fields["kind"]), fields["row"]
    if tier is None:
        bad("is of a kind that is not known")
    with _of(row.get("id")):
        _check_row(tier, row)
        _compare(fields["hash"], sha256({"kind": tier.kind, "row": row}), "row")
        return row_line(tier, row, fields["hash"])


_READERS: Mapping[str, Callable[[dict[str, Any]], FileLine]] = {
    "manifest": _manifest,
    "memory": _memory,
    "tier": _row,
    "end": _end,
}


@contextmanager
def _of(id_: object) -> Iterator[None]:
    """Name the id of the memory or row in a refusal, where the id has the form of one."""
    try:
        yield
    except BadLineError as error:
        raise BadLineError(error.detail, str(id_) if is_memory_id(id_) else None) from None


def _compare(given: Json, hash_: str, what: str) -> None:
    if HASH.read(given) != hash_:
        bad(f"the hash is not that of the {what}")


def _unit_vector(data: bytes, embedding: str) -> Vector:
    if len(data) != 4 * int(embedding.rpartition("/")[2]):
        bad("vector has not as many numbers as its embedding has dimensions")
    values = np.frombuffer(data, "<f4").astype(np.float32, copy=False)
    # NaN is not within either bound; a number that is far too large must not be squared.
    if not (np.abs(values).max() <= 1 + _UNIT_WITHIN and abs(float(values @ values) - 1) <= 2 * _UNIT_WITHIN):
        bad("vector is not of unit length")
    return values


def _check_row(tier: TierTable, row: Mapping[str, Any]) -> None:
    """Check a row against the declaration of its table; the rules of the database's table decide the rest.

    Raises:
        BadLineError: the row has other columns, lacks a column of its key, or has a value that the column cannot have.
    """
    if "tenant_id" in row:
        bad("a row names no tenant: it is that of the credential")
    if unknown := row.keys() - set(tier.told):
        bad(f"the row has a column that is not known: {min(unknown)[:40]!a}")
    needed = {*tier.key, *(["agent_id"] if tier.of_agent else [])}
    if missing := [column for column in sorted(needed) if row.get(column) is None]:
        bad(f"the row lacks {' and '.join(missing)}")
    for columns, holds, what in _RULES[tier.kind]:
        for column in columns:
            if row.get(column) is not None and not holds(row[column]):
                bad(f"{column} must {what}")
    if tier.weighs is not None:
        _check_weight(tier.weighs, row)


def _rules(tier: TierTable) -> Iterator[tuple[Iterable[str], Callable[[Any], bool], str]]:
    """Yield the rules of columns that are not NULL: the columns, whether a value is allowed, and the message if not."""
    yield tier.told, _is_scalar, "be a text, a number or null"
    yield _NAMES, lambda value: (value == "" and tier.unnamed) or _is_name(value), "have the form of an agent's id"
    # A database would turn a text into an integer or back, and the row would not be found under its key in the line.
    yield [column for column in tier.key if column in tier.integers], _is_integer, "be an integer"
    yield [column for column in tier.key if column not in tier.integers], _is_text, "be a text"
    # An import compares the moment in the line with its clock; a database would turn a text into an integer later.
    yield [column for column in tier.told if column == "expires_at"], _is_moment, "be an integer"
    yield tier.json, _is_json, "be a text that is valid JSON"


def _check_weight(weighs: tuple[tuple[str, ...], int], row: Mapping[str, Any]) -> None:
    """Refuse a row whose column ``bytes`` is less than the row has: limits are checked against this column."""
    columns, beside = weighs
    least = sum(len(row[column].encode()) for column in columns if isinstance(row.get(column), str))
    if not (_is_integer(row.get("bytes")) and row["bytes"] >= least + beside):
        bad("bytes must not be less than what the row holds")


def _is_scalar(value: object) -> bool:
    return (
        _is_text(value) or (type(value) is int and abs(value) <= _LARGEST) or (type(value) is float and isfinite(value))
    )


def _is_text(value: object) -> bool:
    """Tell whether a value is a text that a database keeps: without NUL and without half a surrogate pair."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _AGENT_ID.fullmatch(value) is not None


def _is_integer(value: object) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _is_moment(value: object) -> bool:
    return type(value) is int


def _is_json(value: object) -> bool:
    """Tell whether a value is a text of JSON."""
    try:
        return isinstance(value, str) and DECODER.decode(value) is not NotImplemented
    except (ValueError, RecursionError):
        return False


_RULES = {tier.kind: [*_rules(tier)] for tier in _TIERS.values()}
