"""The lines of the format that docs/format.md describes: how they are written, hashed and read."""

import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from app import limits
from app.errors import InvalidRequest
from app.model import Json, NewMemory, Vector, format_moment, milliseconds, parse_moment, to_json
from app.transfer.record import Record

FORMAT = "memory-gateway"
VERSION = 1
LINE_BYTES = 256 * 1024
"""The longest line that is read; nothing that the limits allow is written longer."""

_MEMORY_ID = re.compile(limits.MEMORY_ID_FORM)
_HASH = re.compile("[0-9a-f]{64}")
_LABEL = re.compile(r".{1,200}/([1-9][0-9]{0,5})")
_REQUIRED = ("id", "agent_id", "content", "metadata", "created_at", "hash")
_MEMORY_NAMES = {"type", *_REQUIRED, "session_id", "occurred_at", "expires_at", "vector", "embedding"}
_MANIFEST_NAMES = {"type", "format", "version", "tenant", "agent_id", "memories", "embedding", "vectors"}
_END_NAMES = {"type", "memories", "hash"}
_UNIT_WITHIN = 0.01
"""A vector that was kept in half precision is a little off its length."""

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
    """One memory: a record with an id and a moment, the same as a store takes it, and the hash of it."""

    record: Record
    memory: NewMemory
    hash: str


@dataclass(frozen=True, slots=True)
class End:
    """The closing line: what came before it."""

    memories: int
    hash: str


Line: TypeAlias = Manifest | MemoryLine | End


@dataclass(slots=True)
class Total:
    """Count and hash of the memory lines so far."""

    memories: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def add(self, line_hash: str) -> None:
        """Take in the hash of the next line."""
        self.memories += 1
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
    return _written({"type": "end", "memories": total.memories, "hash": total.hash})


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
    for name in ("occurred_at", "created_at", "expires_at"):
        if (at := getattr(record, name)) is not None:
            fields[name] = format_moment(at)
    return fields


def _memory(value: dict[str, Any]) -> MemoryLine:
    given = value.get("id")
    id_ = given if isinstance(given, str) and _MEMORY_ID.fullmatch(given) else None
    try:
        _names(value, _MEMORY_NAMES, _REQUIRED)
        if id_ is None:
            _bad("id must be a memory's id, a ULID")
        vector, embedding = _vector(value)
        record = Record(
            agent_id=_text(value, "agent_id"),
            content=_text(value, "content"),
            metadata=_object(value, "metadata"),
            id=id_,
            session_id=_text(value, "session_id") if "session_id" in value else None,
            occurred_at=_moment(value, "occurred_at"),
            created_at=_moment(value, "created_at"),
            expires_at=_moment(value, "expires_at"),
            vector=vector,
            embedding=embedding,
        )
        memory = check(record)
        if hash_of(record) != _digest(value):
            _bad("the hash is not that of the memory")
    except BadLineError as error:
        raise BadLineError(error.detail, id_) from None
    return MemoryLine(record, memory, value["hash"])


def check(record: Record) -> NewMemory:
    """Hold a memory against the limits of a store, and return it as what a store takes.

    Raises:
        BadLineError: a field is over its limits.
    """
    memory = NewMemory(
        record.content, record.metadata, record.session_id, record.occurred_at, expires_at=record.expires_at
    )
    try:
        limits.check_store(record.agent_id, memory)
    except InvalidRequest as error:
        raise BadLineError(error.detail.removesuffix("."), record.id) from None
    return memory


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
    _names(value, _END_NAMES, _END_NAMES)
    return End(_count(value, "memories"), _digest(value))


_READERS: Mapping[str, Callable[[dict[str, Any]], Line]] = {"manifest": _manifest, "memory": _memory, "end": _end}


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


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Json]:
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
