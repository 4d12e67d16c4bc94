"""Long-term memory: the only module whose SQL names the table ``long_term_memory`` for a request."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.admission import LET_IN, Admission
from app.in_use import named
from app.model import Entry, Filter, NewMemory, Scope
from app.ports.database import Row, Statement
from app.tiers import filters
from app.tiers.agents import EXPIRES_AT

_SCOPE = "memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'"

_INSERT = f"""
INSERT INTO long_term_memory (
  tenant_id, agent_id, id, content, content_hash, segments, metadata, session_id, occurred_at,
  embedding_provider, embedding_model, embedding_dimensions, created_at, expires_at
)
SELECT
  ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', ?1 ->> 'content', ?1 ->> 'content_hash', ?1 ->> 'segments',
  ?1 ->> 'metadata', ?1 ->> 'session_id', ?1 ->> 'occurred_at', ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions',
  ?1 ->> 'created_at', {EXPIRES_AT}
WHERE {LET_IN}
ON CONFLICT (tenant_id, agent_id, content_hash) DO UPDATE SET
  metadata = excluded.metadata, expires_at = excluded.expires_at
RETURNING id, created_at
"""

_DELETE = f"DELETE FROM long_term_memory AS memory WHERE {_SCOPE} AND memory.id = ?1 ->> 'id' RETURNING id"

_COLUMNS = "memory.id, memory.content, memory.metadata, memory.created_at"


@dataclass(frozen=True, slots=True)
class LongTermMemory:
    """Statements over one scope's memories. The tenant is bound here, once."""

    scope: Scope

    def insert(self, memory: NewMemory, admission: Admission, *, created_at: int) -> Statement:
        """Add a memory, or give the one with the same content hash the new metadata and expiry.

        Returns one row, ``id`` and ``created_at`` of the memory that now holds the content, or none when the
        store is not let in.
        """
        return Statement(
            _INSERT,
            admission.argument
            | {
                "content": memory.content,
                "segments": memory.segments,
                "metadata": memory.metadata_json,
                "session_id": memory.session_id,
                "occurred_at": memory.occurred_at,
                **named(admission.in_use.active),
                "created_at": created_at,
                "expires_at": memory.expires_at,
            },
            writes=True,
            repeatable=True,
        )

    def delete(self, memory_id: str) -> Statement:
        """Remove a memory; returns its ``id``, or no row when the scope has none of that id."""
        return Statement(
            _DELETE,
            {"tenant_id": self.scope.tenant_id, "agent_id": self.scope.agent_id, "id": memory_id},
            writes=True,
            repeatable=True,
        )

    def read(self, ids: Sequence[str], where: Filter, *, most: int) -> Statement:
        """Read the first ``most`` of the ids that exist, belong to the scope and pass the filter, in their order."""
        return Statement(
            # CROSS JOIN keeps the order of the tables: from a few ids to their rows, never over the whole scope.
            f"SELECT {_COLUMNS} FROM json_each(?1, '$.ids') AS hit CROSS JOIN long_term_memory AS memory"
            f" WHERE {_SCOPE} AND memory.id = hit.value AND {filters.of_living(where, 'memory')}"
            " ORDER BY hit.key LIMIT ?1 ->> 'most'",
            {
                "tenant_id": self.scope.tenant_id,
                "agent_id": self.scope.agent_id,
                "ids": list(ids),
                "most": most,
                "where": filters.argument(where),
            },
        )

    def newest(self, where: Filter, *, most: int) -> Statement:
        """Read the newest ``most`` of the scope's memories that pass the filter, newest first."""
        return Statement(
            f"SELECT {_COLUMNS} FROM long_term_memory AS memory WHERE {_SCOPE}"
            f" AND {filters.of_living(where, 'memory')} ORDER BY memory.created_at DESC LIMIT ?1 ->> 'most'",
            {
                "tenant_id": self.scope.tenant_id,
                "agent_id": self.scope.agent_id,
                "most": most,
                "where": filters.argument(where),
            },
        )


def entry(row: Row, score: float) -> Entry:
    """Make an entry of a row that ``read`` returned."""
    return Entry(
        id=str(row["id"]),
        content=str(row["content"]),
        metadata=json.loads(str(row["metadata"])),
        score=score,
        created_at=int(row["created_at"] or 0),
    )
