"""Writes of long-term memory. What a recall reads of it is in ``app.storage.candidates``."""

from dataclasses import dataclass

from app.domain.memory import NewMemory, Scope
from app.ports.database import Statement
from app.storage.admission import LET_IN, Admission
from app.storage.agents import EXPIRES_AT
from app.storage.embedding_configs import named

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
                **named(admission.configs.active),
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
