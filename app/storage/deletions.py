"""The run that deletes a memory. Every prefix of it is harmless, as ``app.storage.memories`` says."""

from app.domain.author import Author
from app.domain.memory import Scope
from app.ports.database import NOW
from app.storage.learned_of import delete_proposals, with_learned
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.scoped import ScopedStatement

# The + has SQLite look the memories up by their ids rather than walk the agent's.
_OWN = "+memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'"
# Each statement of a run selects the same memories, since only the last statement with this query deletes them.
_DELETED = with_learned(f"""
SELECT memory.id FROM long_term_memory AS memory WHERE {_OWN} AND memory.id = ?1 ->> 'id'
""")
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE {_OWN} AND memory.id IN ({_DELETED})
{QUEUED_AGAIN}
RETURNING id, index_name, revision
"""
_AUDIT_DELETE = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'deleted', '{{}}', ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory WHERE {_OWN} AND memory.id IN ({_DELETED})
"""
_DELETE_PROPOSALS = delete_proposals(_DELETED)
_DELETE = f"DELETE FROM long_term_memory AS memory WHERE {_OWN} AND memory.id IN ({_DELETED}) RETURNING id"


def delete(scope: Scope, memory_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run that deletes a memory and, if it is a message, the memories that were learned of it.

    The second statement returns ``id``, ``index_name`` and ``revision`` of each removal that it has queued, the last
    the ``id`` of each memory that it has deleted.
    """
    return [
        ScopedStatement.write(scope, _DELETE_PROPOSALS, id=memory_id),
        ScopedStatement.write(scope, _QUEUE_DELETES, id=memory_id),
        ScopedStatement.write(scope, _AUDIT_DELETE, id=memory_id, now=now, by=author.credential_id),
        ScopedStatement.write(scope, _DELETE, id=memory_id),
    ]
