"""The lines of the format that docs/format.md describes: the fields of each kind, and how it is written and hashed."""

import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, cast, get_args

from app.domain import limits
from app.domain.bounds import form
from app.domain.claim import MemoryType
from app.domain.embedding import Vector
from app.domain.json_types import Json, Scalar, to_json
from app.domain.learned import Learned
from app.domain.moments import format_moment, milliseconds, parse_moment
from app.services.transfer.fields import Field, Fields, bounded, is_texts, texts
from app.services.transfer.record import Record
from app.storage.batches import MEMORIES
from app.storage.tiers.tables import TIER_TABLES, TierTable

FORMAT = "memory-gateway"
VERSION = 3
"""The version that is written; earlier versions are read too. Version 2 added ``superseded_at``, ``forgotten_at``,
``message_id``, ``memory_type`` and ``learned``; version 3 added rows of the tiers."""
LINE_BYTES = 1024 * 1024
"""The bytes of the longest line that is read; data within the limits make no longer line."""

_EXACT = 2**53
"""Whole numbers below it are the same as integers and as doubles."""
_ORDER: Mapping[str, int] = {table.kind: number for number, table in enumerate((MEMORIES, *TIER_TABLES))}
_HASH = re.compile("[0-9a-f]{64}")

_canonical: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


def is_memory_id(value: object) -> bool:
    """Tell whether a value has the form of a memory's or a row's id."""
    return isinstance(value, str) and limits.MEMORY_ID.violation(value) is None


def _learned(value: Mapping[str, Json]) -> Learned:
    return Learned(**_LEARNED.read(value))


def _from_base64(value: str) -> bytes:
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        raise ValueError("is not base64") from None


def _base64(vector: Vector) -> str:
    return binascii.b2a_base64(vector.astype("<f4", copy=False).tobytes(), newline=False).decode()


_COUNT = bounded(lambda value: type(value) is int and value >= 0, "must be a whole number")
_SHA256 = bounded(lambda value: isinstance(value, str) and bool(_HASH.fullmatch(value)), "must be a SHA-256 in hex")
_MESSAGE_ID = form("[0-9a-f]{32}", "must be 32 hexadecimal digits")
_MESSAGES = form("[0-9a-f]{32}", "must be the ids of messages, 32 hexadecimal digits each")
_LABEL = form(r".{1,200}/[1-9][0-9]{0,5}", "must be provider/model/dimensions")
_MEMORY_TYPE = bounded(get_args(MemoryType).__contains__, f"must be one of {', '.join(get_args(MemoryType))}")
_moment = partial(Field, parse=lambda value: milliseconds(parse_moment(value)), write=format_moment)

HASH = Field("hash", object, _SHA256)
GIVEN_HASH = Field("hash", object)
"""The hash of a line, which is checked once all other fields are valid."""
VERSION_FIELD = Field("version", object, _COUNT)
MANIFEST = Fields(
    Field("format"),
    VERSION_FIELD,
    Field("tenant"),
    Field("agent_id", required=False),
    Field("memories", object, _COUNT),
    Field("embedding", object, bounded(is_texts, "must be a list of texts"), write=list),
    Field("vectors", bool),
)
_LEARNED = Fields(
    Field("message_ids", object, texts(limits.MAX_MESSAGES, _MESSAGES, least=1)),
    Field("topic", bound=limits.TOPIC, required=False),
    Field("search_queries", object, texts(limits.MAX_SEARCH_QUERIES, limits.SEARCH_QUERY), required=False),
)
MEMORY = Fields(
    Field("id", object, bounded(is_memory_id, "must be a memory's id, a ULID")),
    Field("agent_id"),
    Field("content"),
    Field("metadata", dict),
    Field("session_id", required=False),
    Field("message_id", bound=_MESSAGE_ID, required=False),
    Field("run_id", bound=limits.RUN_ID, required=False),
    Field("memory_type", object, _MEMORY_TYPE, required=False, pair="learned"),
    Field("learned", dict, required=False, parse=_learned, write=lambda learned: learned.fields),
    _moment("occurred_at", required=False),
    _moment("created_at"),
    _moment("expires_at", required=False),
    _moment("superseded_at", required=False),
    _moment("forgotten_at", required=False),
)
"""The fields of a memory, of which its hash is made."""
VECTOR = Fields(
    Field("vector", required=False, pair="embedding", parse=_from_base64, write=_base64),
    Field("embedding", bound=_LABEL, required=False),
)
MEMORY_LINE = Fields(*reversed(VECTOR.declared), *MEMORY.declared, GIVEN_HASH)
ROW = Fields(Field("kind"), Field("row", dict), GIVEN_HASH)
END = Fields(Field("memories", object, _COUNT), Field("rows", object, _COUNT, required=False), HASH)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The first line: the tenant, the agent, and how many memories there were when the line was written."""

    tenant: str
    agent_id: str | None
    memories: int
    embedding: Sequence[str]
    vectors: bool
    version: int = VERSION
    format: str = FORMAT

    @property
    def data(self) -> bytes:
        """The line as it is written."""
        return _written("manifest", MANIFEST.write(self))


@dataclass(frozen=True, slots=True)
class Line:
    """A memory or a row of a tier, from its reading to its writing; ``hash`` is that of its line.

    ``table`` is the table of the memory or row. The payload is the record of a memory, or a row by its columns, without
    columns that are NULL. The content is the JSON of the line, without a vector.
    """

    table: TierTable
    payload: Record | Mapping[str, Scalar]
    content: Mapping[str, Json]
    hash: str

    @property
    def is_memory(self) -> bool:
        """Whether the line has a memory, and no row of a tier."""
        return self.table is MEMORIES

    @property
    def record(self) -> Record:
        """The record of the memory."""
        return cast("Record", self.payload)

    @property
    def row(self) -> Mapping[str, Scalar]:
        """The row of a tier."""
        return cast("Mapping[str, Scalar]", self.payload)

    def value(self, column: str) -> Any:  # noqa: ANN401 - of any column
        """Return the value of a column; None: the column has no value."""
        return getattr(self.payload, column) if isinstance(self.payload, Record) else self.payload.get(column)

    @property
    def id(self) -> str | None:
        """The id of the memory or row, where it has an id."""
        id_ = self.value("id")
        return id_ if isinstance(id_, str) else None

    @property
    def agent_id(self) -> str | None:
        """The agent of the memory or row; None where it belongs to all agents."""
        return str(self.value("agent_id")) if self.table.of_agent else None

    @property
    def key(self) -> tuple[Scalar, ...]:
        """The values of the key of its table."""
        return tuple(self.value(column) for column in self.table.key)

    @property
    def position(self) -> tuple[Any, ...]:
        """The position of the line in the order of a file; numbers come before texts."""
        return _ORDER[self.table.kind], *((isinstance(part, str), part) for part in self.key)

    def given_to(self, agent_id: str) -> "Line":
        """Return the line with this agent in place of its own. A line that names no agent stays the tenant's."""
        if not ((self.table.of_agent or self.table.names_agent) and self.value("agent_id")):
            return self
        if self.is_memory:
            return memory_line(replace(self.record, agent_id=agent_id))
        return row_line(self.table, {**self.row, "agent_id": agent_id})

    @property
    def data(self) -> bytes:
        """The line as it is written."""
        vector = VECTOR.write(self.payload) if self.is_memory else {}
        return _written("memory" if self.is_memory else "tier", {**self.content, **vector, "hash": self.hash})


@dataclass(frozen=True, slots=True)
class End:
    """The closing line: counts and hash of the lines before it."""

    memories: int
    hash: str
    rows: int = 0

    @property
    def data(self) -> bytes:
        """The line as it is written."""
        return _written("end", END.write(self))


FileLine: TypeAlias = Manifest | Line | End


@dataclass(slots=True)
class Total:
    """Counts and hash of the lines so far that hold memories and rows."""

    memories: int = 0
    rows: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, line: Line) -> None:
        """Take in the next line."""
        self.memories += line.is_memory
        self.rows += not line.is_memory
        self._digest.update(line.hash.encode())

    @property
    def end(self) -> End:
        """The closing line for these lines; its hash is the SHA-256, in hex, of the lines' hashes one after another."""
        return End(memories=self.memories, rows=self.rows, hash=self._digest.hexdigest())


def memory_line(record: Record) -> Line:
    """Return the line of a memory. The vector is not in the hash."""
    content = MEMORY.write(record)
    return Line(MEMORIES, record, content, sha256(content))


def exported_row(table: TierTable, row: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return a row as a line has it, in the order of its columns; whole numbers are integers in every database."""
    there = {column: row[column] for column in table.told if row.get(column) is not None}
    return {
        column: int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value
        for column, value in there.items()
    }


def row_line(table: TierTable, row: Mapping[str, Scalar], hash_: str | None = None) -> Line:
    """Return the line of a row; ``hash_`` is the hash of the line that the row was read from, if any."""
    row = exported_row(table, row)
    content: dict[str, Json] = {"kind": table.kind, "row": row}
    return Line(table, row, content, hash_ or sha256(content))


def whole_file(manifest: Manifest, lines: Iterable[Line]) -> bytes:
    """Return a whole file of these lines."""
    total, written = Total(), [manifest.data]
    for line in lines:
        total.add(line)
        written.append(line.data)
    return b"".join([*written, total.end.data])


def sha256(value: Json) -> str:
    """Return the SHA-256, in hex, of the canonical form of a JSON value."""
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def _written(kind: str, fields: Mapping[str, Json]) -> bytes:
    return to_json({"type": kind, **fields}).encode() + b"\n"
