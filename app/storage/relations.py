"""Reads the relations between memories of a scope that a reader has found (``schema.sql``)."""

from app.domain.memory import Scope
from app.storage.scoped import ScopedStatement

_MAX = 50
_OF_MEMORY = f"""
SELECT found.older_id, found.newer_id, found.name, found.probability, found.effect, found.version, found.compared_at
FROM relation AS found
WHERE found.tenant_id = ?1 ->> 'tenant_id' AND found.agent_id = ?1 ->> 'agent_id'
  AND (found.newer_id = ?1 ->> 'id' OR found.older_id = ?1 ->> 'id')
ORDER BY found.newer_id DESC, found.older_id DESC LIMIT {_MAX}
"""


def of_memory(scope: Scope, memory_id: str) -> ScopedStatement:
    """Read the relations of a memory to others, newest first, as rows of ``app.domain.comparing.Comparison``."""
    return ScopedStatement.read(scope, _OF_MEMORY, id=memory_id)
