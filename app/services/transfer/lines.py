"""The lines of the format that docs/format.md describes: what they are, and how they are written and hashed."""

import binascii
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from app.domain.json_types import Json, Scalar, to_json
from app.domain.moments import format_moment
from app.services.transfer.record import Record
from app.storage.tiers.tables import TierTable

FORMAT = "memory-gateway"
VERSION = 3
"""The version that is written; those before it are read too. Version 2 has ``superseded_at``, ``forgotten_at``,
``message_id``, ``memory_type`` and ``learned``; version 3 has rows of the tiers."""
LINE_BYTES = 1024 * 1024
"""The longest line that is read; nothing that the limits allow is written longer."""

_EXACT = 2**53
"""Whole numbers below it are the same as integers and as doubles."""

_canonical: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode


class BadLineError(Exception):
    """A line that cannot be taken, and why; ``id`` is the memory's, where it can be read."""

    def __init__(self, detail: str, id_: str | None = None) -> None:
        """Keep what to report."""
        super().__init__(detail)
        self.detail = detail
        self.id = id_


@dataclass(frozen=True, slots=True)
class Manifest:
    """The first line: whose memories follow, and how many there were when it was written."""

    tenant: str
    agent_id: str | None
    memories: int
    embedding: Sequence[str]
    vectors: bool
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """One memory: a record with an id and a moment, within the limits of a store, and the hash of it."""

    record: Record
    hash: str


@dataclass(frozen=True, slots=True)
class RowLine:
    """One row of a tier, by its columns; those that are NULL are left out."""

    tier: TierTable
    row: Mapping[str, Scalar]
    hash: str

    @property
    def id(self) -> str | None:
        """Its id, where it has one."""
        id_ = self.row.get("id")
        return id_ if isinstance(id_, str) else None

    @property
    def agent_id(self) -> str | None:
        """Its agent; None where it belongs to all agents."""
        return str(self.row["agent_id"]) if self.tier.of_agent else None

    @property
    def names_agent(self) -> bool:
        """Whether an agent stands in it, whomever it belongs to."""
        return (self.tier.of_agent or self.tier.names_agent) and bool(self.row.get("agent_id"))

    @property
    def key(self) -> tuple[Scalar, ...]:
        """What it is known by in its table."""
        return tuple(self.row[column] for column in self.tier.key)


@dataclass(frozen=True, slots=True)
class End:
    """The closing line: what came before it."""

    memories: int
    rows: int
    hash: str


Line: TypeAlias = Manifest | MemoryLine | RowLine | End


@dataclass(slots=True)
class Total:
    """Counts and hash of the lines so far that hold memories and rows."""

    memories: int = 0
    rows: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, line_hash: str) -> None:
        """Take in the hash of the next memory."""
        self.memories += 1
        self._digest.update(line_hash.encode())

    def add_row(self, line_hash: str) -> None:
        """Take in the hash of the next row."""
        self.rows += 1
        self._digest.update(line_hash.encode())

    @property
    def hash(self) -> str:
        """SHA-256, in hex, of the lines' hashes one after another."""
        digest: str = self._digest.hexdigest()
        return digest


def hash_of(record: Record) -> str:
    """SHA-256, in hex, of a memory's canonical JSON: what it is, without its vector."""
    return hashlib.sha256(_canonical(_fields(record)).encode()).hexdigest()


def same(metadata: Json, other: Json) -> bool:
    """Whether two JSON values are one, whatever the order of their keys."""
    return _canonical(metadata) == _canonical(other)


def write_memory(record: Record) -> tuple[bytes, str]:
    """Write a memory's line; return it and its hash."""
    fields = _fields(record)
    digest = hashlib.sha256(_canonical(fields).encode()).hexdigest()
    carried: dict[str, Json] = {}
    if record.vector is not None:
        values = record.vector.astype("<f4", copy=False).tobytes()
        carried = {"vector": binascii.b2a_base64(values, newline=False).decode(), "embedding": record.embedding}
    return _written({"type": "memory", **fields, **carried, "hash": digest}), digest


def hash_of_row(kind: str, row: Mapping[str, Scalar]) -> str:
    """SHA-256, in hex, of the canonical JSON of a row and its kind."""
    return hashlib.sha256(_canonical({"kind": kind, "row": dict(row)}).encode()).hexdigest()


def held(tier: TierTable, row: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return what a row holds, in the order of its columns; a number is written alike wherever it was kept."""
    there = {column: row[column] for column in tier.told if row.get(column) is not None}
    return {
        column: int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value
        for column, value in there.items()
    }


def write_row(tier: TierTable, row: Mapping[str, Scalar]) -> tuple[bytes, str]:
    """Write the line of a row, as ``held`` returns it; return it and its hash."""
    digest = hash_of_row(tier.kind, row)
    return _written({"type": "tier", "kind": tier.kind, "row": dict(row), "hash": digest}), digest


def write_manifest(manifest: Manifest) -> bytes:
    """Write the first line."""
    agent: dict[str, Json] = {} if manifest.agent_id is None else {"agent_id": manifest.agent_id}
    return _written(
        {
            "type": "manifest",
            "format": FORMAT,
            "version": manifest.version,
            "tenant": manifest.tenant,
            **agent,
            "memories": manifest.memories,
            "embedding": list(manifest.embedding),
            "vectors": manifest.vectors,
        }
    )


def write_end(total: Total) -> bytes:
    """Write the closing line."""
    return _written({"type": "end", "memories": total.memories, "rows": total.rows, "hash": total.hash})


def _written(line: Mapping[str, Json]) -> bytes:
    return to_json(line).encode() + b"\n"


def _fields(record: Record) -> dict[str, Json]:
    """Return what a memory is, in the order of its line; what it has not is left out."""
    fields: dict[str, Json] = {
        "id": record.id,
        "agent_id": record.agent_id,
        "content": record.content,
        "metadata": record.metadata,
    }
    if record.session_id is not None:
        fields["session_id"] = record.session_id
    if record.message_id is not None:
        fields["message_id"] = record.message_id
    if record.run_id is not None:
        fields["run_id"] = record.run_id
    if record.learned is not None:
        fields["memory_type"], fields["learned"] = record.memory_type, record.learned.fields
    for name in ("occurred_at", "created_at", "expires_at", "superseded_at", "forgotten_at"):
        if (at := getattr(record, name)) is not None:
            fields[name] = format_moment(at)
    return fields
