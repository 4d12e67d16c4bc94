"""A record of CrewAI as a memory: its content is the content, all else of it is metadata.

Metadata is compared for equality alone, so there is an entry for each level of the scope: all below a scope has these.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from crewai.memory.types import MemoryRecord
from crewai.memory.utils import normalize_scope_path

from memory_gateway_client import Entry, Memory

_OURS = "crewai."
_ID, _SCOPE, _CATEGORIES = f"{_OURS}id", f"{_OURS}scope", f"{_OURS}categories"
_IMPORTANCE, _SOURCE, _PRIVATE = f"{_OURS}importance", f"{_OURS}source", f"{_OURS}private"


def levels(scope: str | None) -> list[str]:
    """Return the names on the way to a scope; of the root there are none."""
    return [name for name in normalize_scope_path(scope or "/").split("/") if name]


def below(scope: str | None) -> dict[str, Any]:
    """Return the metadata that all records of a scope have, and those of the scopes in it."""
    return {f"{_SCOPE}.{level}": name for level, name in enumerate(levels(scope))}


def with_id(record_id: str) -> dict[str, Any]:
    """Return the metadata that the record of an id has, and no other."""
    return {_ID: record_id}


def metadata(record: MemoryRecord) -> dict[str, Any]:
    """Return the metadata of a record's memory."""
    ours = {
        _ID: record.id,
        _SCOPE: normalize_scope_path(record.scope),
        _CATEGORIES: record.categories or None,
        _IMPORTANCE: record.importance,
        _SOURCE: record.source,
        _PRIVATE: record.private or None,
    }
    return {
        **record.metadata,
        **below(record.scope),
        **{key: value for key, value in ours.items() if value is not None},
    }


def record(memory: Memory | Entry) -> MemoryRecord:
    """Return a memory as a record; one that came otherwise than by CrewAI is one of the root."""
    held: Mapping[str, Any] = memory.metadata
    moment = (memory.occurred_at or memory.created_at).astimezone(UTC).replace(tzinfo=None)  # as CrewAI has it
    return MemoryRecord(
        id=held.get(_ID, memory.id),
        content=memory.content,
        scope=held.get(_SCOPE, "/"),
        categories=held.get(_CATEGORIES, []),
        metadata={key: value for key, value in held.items() if not key.startswith(_OURS)},
        importance=held.get(_IMPORTANCE, 0.5),
        created_at=moment,
        last_accessed=moment,
        source=held.get(_SOURCE),
        private=held.get(_PRIVATE, False),
    )


def told(content: str) -> MemoryRecord:
    """Return a record that is no memory, but says something of it."""
    now = datetime.now(UTC).replace(tzinfo=None)
    return MemoryRecord(id="memory-gateway", content=content, created_at=now, last_accessed=now)
