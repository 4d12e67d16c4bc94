"""The audit: what was done with a memory, never what it says."""

from dataclasses import dataclass

from app.domain.json_types import Json, to_json
from app.domain.memory import Scope
from app.ports.database import Statement
from app.storage.admission import LET_IN, Admission

_STORED = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'stored', ?1 ->> 'detail', ?1 ->> 'now'
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.content_hash = ?1 ->> 'content_hash' AND {LET_IN}
"""

_DELETED = """
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'deleted', '{}', ?1 ->> 'now'
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = ?1 ->> 'id'
"""


@dataclass(frozen=True, slots=True)
class Audit:
    """Statements that record what happened in one scope. The tenant is bound here, once."""

    scope: Scope

    def stored(
        self,
        admission: Admission,
        *,
        now: int,
        tokens: int | None,
        milliseconds: float,
    ) -> Statement:
        """Record that a memory was embedded and stored. Comes after the memory's own statement in a run.

        A run that is made twice leaves two rows: it was attempted twice.
        """
        config = admission.configs.active
        detail: Json = {
            "provider": config.provider,
            "model": config.model,
            "dimensions": config.dimensions,
            "tokens": tokens,
            "embedding_ms": round(milliseconds, 1),
        }
        return Statement(
            _STORED,
            admission.argument | {"detail": to_json(detail), "now": now},
            writes=True,
            repeatable=True,
        )

    def deleted(self, memory_id: str, *, now: int) -> Statement:
        """Record that a memory is deleted, where there is one. Comes before the memory's own statement in a run."""
        return Statement(
            _DELETED,
            {"tenant_id": self.scope.tenant_id, "agent_id": self.scope.agent_id, "id": memory_id, "now": now},
            writes=True,
            repeatable=True,
        )
