"""The run that deletes a memory. Every prefix of it is harmless, as ``app.storage.memories`` says."""

from app.domain.author import Author
from app.domain.memory import Scope
from app.storage.outbox import queue_delete
from app.storage.scoped import ScopedStatement

_AUDIT_DELETE = """
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'deleted', '{}', ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = ?1 ->> 'id'
"""
_DELETE = """
DELETE FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = ?1 ->> 'id'
RETURNING id
"""


def delete(scope: Scope, memory_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run that deletes a memory.

    The first statement returns ``index_name`` and ``revision`` of each removal that it has queued, the third the ``id``
    where there was such a memory.
    """
    return [
        queue_delete(scope, memory_id),
        ScopedStatement.write(scope, _AUDIT_DELETE, id=memory_id, now=now, by=author.credential_id),
        ScopedStatement.write(scope, _DELETE, id=memory_id),
    ]
