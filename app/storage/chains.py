"""The versions of the keys that a memory states: the chains of these keys (``schema.sql``), oldest first."""

from app.domain.memory import Scope
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import living

MAX_VERSIONS = 100
"""The number of versions that are read of all keys of a memory together, the newest."""
_READ_OF_EACH = 1200
"""Characters of a version's content that are read: enough for a summary."""

# A forgotten memory is no version here, unless it is the memory whose versions are read.
_VERSIONS = f"""
SELECT key, memory_id, content, happened_at, created_at, occurred_at, superseded_at FROM (
  SELECT version.key, version.memory_id, substr(memory.content, 1, {_READ_OF_EACH}) AS content, version.happened_at,
    memory.created_at, memory.occurred_at, version.superseded_at
  FROM claim AS stated CROSS JOIN claim AS version CROSS JOIN long_term_memory AS memory
  WHERE stated.tenant_id = ?1 ->> 'tenant_id' AND stated.agent_id = ?1 ->> 'agent_id'
    AND stated.memory_id = ?1 ->> 'id'
    AND version.tenant_id = ?1 ->> 'tenant_id' AND version.agent_id = ?1 ->> 'agent_id' AND version.key = stated.key
    AND memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
    AND memory.id = version.memory_id AND {living("memory")}
    AND (memory.forgotten_at IS NULL OR memory.id = ?1 ->> 'id')
  ORDER BY version.happened_at DESC, version.memory_id DESC, version.key LIMIT {MAX_VERSIONS}
)
ORDER BY key, happened_at, memory_id
"""


def versions(scope: Scope, memory_id: str) -> ScopedStatement:
    """Read the versions of each key that a memory states, key by key, oldest first.

    Returns ``key``, ``memory_id``, the beginning of its ``content``, ``happened_at``, ``created_at``,
    ``occurred_at`` and ``superseded_at``.
    """
    return ScopedStatement.read(scope, _VERSIONS, id=memory_id)
