"""What may be stored and asked, checked before anything is embedded or written.

The CHECK constraints in ``app/storage/migrations`` restate the sizes; the OpenAPI document shows them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.domain.errors import ContentTooLarge, FieldError, InvalidRequest
from app.domain.json_types import Json, to_json
from app.domain.memory import NewMemory
from app.domain.query import Filter, Query

ID_FORM = r"[A-Za-z0-9._:-]{1,64}"
"""Form of a tenant or agent id: Vectorize indexes only the first 64 bytes of a string, so that a longer
id could read another tenant's memories."""

MEMORY_ID_FORM = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
"""Form of a ULID: 26 characters of Crockford's base 32."""

CONTENT_BYTES = 32 * 1024
METADATA_BYTES = 10 * 1024
METADATA_DEPTH = 8
SESSION_ID_BYTES = 256
IDEMPOTENCY_KEY_FORM = r"[!-~]{1,255}"
"""Form of an Idempotency-Key: visible ASCII."""
MAX_RECENCY_DAYS = 36_500
_RECENCY = f"must be above 0, at most {MAX_RECENCY_DAYS}"
MAX_TOP_K = 20
MAX_LIST = 100
"""How many memories one page of a listing holds."""
MAX_RETENTION_DAYS = 36500
MAX_NUMBER = 2**63 - 1
"""The largest number metadata may hold: beyond it SQLite compares integers as approximate ones."""

_ID = re.compile(ID_FORM)
_MEMORY_ID = re.compile(MEMORY_ID_FORM)
_IDEMPOTENCY_KEY = re.compile(IDEMPOTENCY_KEY_FORM)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Violation:
    field: str
    message: str
    too_large: bool = False


def is_id(value: object) -> bool:
    """Whether this has the form of a tenant or agent id."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def check_store(
    agent_id: str, memory: NewMemory, idempotency_key: str | None = None, *, now: int | None = None
) -> None:
    """Check what is to be stored; with ``now`` (ms since the epoch), also that it does not expire at once.

    Raises:
        ContentTooLarge: the content has too many bytes.
        InvalidRequest: another field is wrong; every wrong field is named.
    """
    _refuse(
        [
            *_agent(agent_id),
            *_text("content", memory.content, CONTENT_BYTES),
            *_metadata("metadata", memory.metadata),
            *(() if memory.session_id is None else _text("session_id", memory.session_id, SESSION_ID_BYTES)),
            *(() if idempotency_key is None else _key(idempotency_key)),
            *_expiry(memory, now),
        ]
    )


def check_recall(agent_id: str, query: Query) -> None:
    """Check what is asked; raises as ``check_store`` does."""
    tokens, days = query.max_tokens, query.recency_days
    _refuse(
        [
            *_agent(agent_id),
            *_text("query", query.text, CONTENT_BYTES),
            *(() if 1 <= query.top_k <= MAX_TOP_K else [_Violation("top_k", f"must be from 1 to {MAX_TOP_K}")]),
            *(() if 0 <= query.min_score <= 1 else [_Violation("min_score", "must be from 0 to 1")]),
            *(() if days is None or 0 < days <= MAX_RECENCY_DAYS else [_Violation("recency_days", _RECENCY)]),
            *(() if tokens is None or tokens >= 1 else [_Violation("max_tokens", "must be at least 1")]),
            *_metadata("filter.metadata", query.where.metadata),
            *_scalars("filter.metadata", query.where.metadata),
        ]
    )


def check_erase(agent_id: str) -> None:
    """Check what is to be erased; raises as ``check_store`` does."""
    _refuse([*_agent(agent_id)])


def check_operation(operation_id: str) -> None:
    """Check an operation's id; raises as ``check_store`` does."""
    known = _MEMORY_ID.fullmatch(operation_id) is not None
    _refuse([] if known else [_Violation("operation_id", "must be an operation's id, a ULID")])


def check_list(agent_id: str | None, limit: int, where: Filter) -> None:
    """Check what is to be listed; raises as ``check_store`` does."""
    _refuse(
        [
            *(() if agent_id is None else _agent(agent_id)),
            *(() if 1 <= limit <= MAX_LIST else [_Violation("limit", f"must be from 1 to {MAX_LIST}")]),
            *_metadata("metadata", where.metadata),
            *_scalars("metadata", where.metadata),
        ]
    )


def check_agent(agent_id: str, retention_days: int | None = None) -> None:
    """Check an agent's id and what it is to be set to; raises as ``check_store`` does."""
    known = retention_days is None or 1 <= retention_days <= MAX_RETENTION_DAYS
    most = f"must be from 1 to {MAX_RETENTION_DAYS}, or null"
    _refuse([*_agent(agent_id), *(() if known else [_Violation("retention_days", most)])])


def check_memory(agent_id: str, memory_id: str) -> None:
    """Check which memory is meant; raises as ``check_store`` does."""
    known = _MEMORY_ID.fullmatch(memory_id) is not None
    _refuse([*_agent(agent_id), *(() if known else [_Violation("memory_id", "must be a memory's id, a ULID")])])


def _refuse(findings: list[_Violation]) -> None:
    if findings:
        kind = ContentTooLarge if any(finding.too_large for finding in findings) else InvalidRequest
        detail = "; ".join(f"{finding.field} {finding.message}" for finding in findings)
        raise kind(f"{detail}.", errors=[FieldError(finding.field, finding.message) for finding in findings])


def _agent(agent_id: str) -> Iterator[_Violation]:
    if not is_id(agent_id):
        yield _Violation("agent_id", "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -")


def _key(key: str) -> Iterator[_Violation]:
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        yield _Violation("Idempotency-Key", "must be 1 to 255 visible ASCII characters")


def _expiry(memory: NewMemory, now: int | None) -> Iterator[_Violation]:
    if memory.expires_at is not None and now is not None and memory.expires_at <= now:
        yield _Violation("expires_at", "must be in the future")


def _text(field: str, value: str, most: int) -> Iterator[_Violation]:
    if (flaw := _flaw(value)) is not None:
        yield _Violation(field, f"must not contain {flaw}")
    elif not value.strip():
        yield _Violation(field, "must not be blank")
    elif (size := len(value.encode())) > most:
        yield _Violation(field, f"has {size} bytes in UTF-8, at most {most} are allowed", too_large=field == "content")


def _metadata(field: str, metadata: Mapping[str, Json]) -> Iterator[_Violation]:
    flaw = next(_flaws(metadata), None)
    if flaw is not None:
        yield _Violation(field, flaw)
    elif (size := len(to_json(metadata).encode())) > METADATA_BYTES:
        yield _Violation(field, f"has {size} bytes as JSON, at most {METADATA_BYTES} are allowed")


def _scalars(field: str, metadata: Mapping[str, Json]) -> Iterator[_Violation]:
    if any(isinstance(value, list | Mapping) for value in metadata.values()):
        yield _Violation(field, "must hold texts, numbers, booleans or null to compare with")


def _flaws(metadata: Mapping[str, Json]) -> Iterator[str]:
    """Walk the metadata, never deeper than allowed."""
    level: list[Json] = [metadata]
    for _ in range(METADATA_DEPTH):
        values = [child for value in level for child in _children(value)]
        for value in values:
            if isinstance(value, str) and (flaw := _flaw(value)) is not None:
                yield f"must not contain {flaw} in a key or a value"
            if isinstance(value, int | float) and not -MAX_NUMBER <= value <= MAX_NUMBER:
                yield f"must not contain a number beyond {MAX_NUMBER}"
        level = values
    if any(isinstance(value, list | Mapping) for value in level):
        yield f"must not be nested deeper than {METADATA_DEPTH} levels"


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _flaw(text: str) -> str | None:
    """Name what no text may contain: SQLite ends a JSON text at NUL, and UTF-8 has no lone surrogates."""
    if "\0" in text:
        return "NUL"
    if _SURROGATE.search(text):
        return "a lone surrogate"
    return None
