"""Long-term memory page by page, newest first, and one by its id: what a tenant sees of its own data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.json_types import Json
from app.domain.query import Filter
from app.ports.database import Row, Statement
from app.storage import filters

_COLUMNS = """
memory.id, memory.agent_id, memory.content, memory.metadata, memory.session_id, memory.occurred_at,
  memory.created_at, memory.expires_at
"""
_TENANT = "memory.tenant_id = ?1 ->> 'tenant_id'"
_AGENT = "memory.agent_id = ?1 ->> 'agent_id'"
_AFTER = (
    "memory.created_at <= ?1 ->> 'created_at' AND (memory.created_at, memory.id) < (?1 ->> 'created_at', ?1 ->> 'id')"
)


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory with everything that was stored of it."""

    id: str
    agent_id: str
    content: str
    metadata: Mapping[str, Json]
    session_id: str | None
    occurred_at: int | None
    created_at: int
    expires_at: int | None

    @property
    def place(self) -> "Place":
        """Where it stands in a listing."""
        return Place(self.created_at, self.id)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a listing: right behind the memory of this time and id, whether it is still there or not."""

    created_at: int
    id: str


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """Statements that read one tenant's memories. The tenant is bound here, once."""

    tenant_id: str

    def page(self, agent_id: str | None, where: Filter, *, most: int, after: Place | None) -> Statement:
        """Read the next ``most`` memories, newest first, of one agent or with None of all: rows for ``memory``."""
        # Left to choose, SQLite would walk the whole tenant for an agent of which there is little.
        index = "" if agent_id is None else "INDEXED BY long_term_memory_newest"
        conditions = [_TENANT]
        if agent_id is not None:
            conditions.append(_AGENT)
        if after is not None:
            conditions.append(_AFTER)
        return Statement(
            f"SELECT {_COLUMNS} FROM long_term_memory AS memory {index} WHERE {' AND '.join(conditions)}"
            f" AND {filters.of_living(where, 'memory')}"
            " ORDER BY memory.created_at DESC, memory.id DESC LIMIT ?1 ->> 'most'",
            {
                "tenant_id": self.tenant_id,
                "agent_id": agent_id,
                "created_at": None if after is None else after.created_at,
                "id": None if after is None else after.id,
                "most": most,
                "where": filters.argument(where),
            },
        )

    def one(self, agent_id: str, memory_id: str) -> Statement:
        """Read one memory; no row where the agent has none of that id, or it has expired."""
        return Statement(
            f"SELECT {_COLUMNS} FROM long_term_memory AS memory WHERE {_TENANT} AND {_AGENT}"
            f" AND memory.id = ?1 ->> 'id' AND {filters.of_living(Filter(), 'memory')}",
            {"tenant_id": self.tenant_id, "agent_id": agent_id, "id": memory_id},
        )


def memory(row: Row) -> Memory:
    """Make a memory of a row."""
    return Memory(
        id=str(row["id"]),
        agent_id=str(row["agent_id"]),
        content=str(row["content"]),
        metadata=json.loads(str(row["metadata"])),
        session_id=None if row["session_id"] is None else str(row["session_id"]),
        occurred_at=None if row["occurred_at"] is None else int(row["occurred_at"]),
        created_at=int(row["created_at"] or 0),
        expires_at=None if row["expires_at"] is None else int(row["expires_at"]),
    )
