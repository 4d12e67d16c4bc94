"""Statements that look up memories of whatever state: by an id, or by their words. Expired ones are among them."""

from collections.abc import Sequence

from app.domain.memory import Scope, Tenant
from app.storage.rows import MEMORY_COLUMNS
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import holder

MAX_FOUND = 10
_READ_BY_WORDS = 200
"""Memories whose words match that are read: ids alone, the newest."""
_OWN = "+memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'"
_BY_ID = f"""
SELECT {MEMORY_COLUMNS}, {holder("memory")} AS holder FROM long_term_memory AS memory
WHERE memory.id = ?1 ->> 'id' AND {_OWN}
"""
# A scope is one word of the index of words (schema.sql).
_BY_WORDS = f"""
SELECT {MEMORY_COLUMNS} FROM (
  SELECT rowid AS number FROM memory_words
  WHERE memory_words MATCH 'scope : "' || lower(hex(?1 ->> 'tenant_id')) || 'g' || lower(hex(?1 ->> 'agent_id'))
    || '0" AND {{content segments}} : (' || (?1 ->> 'words') || ')'
  ORDER BY rowid DESC LIMIT {_READ_BY_WORDS}
) AS found CROSS JOIN memory_number CROSS JOIN long_term_memory AS memory
WHERE memory_number.number = found.number AND memory.id = memory_number.id AND {_OWN}
ORDER BY found.number DESC LIMIT {MAX_FOUND}
"""
_OWNER = """
SELECT memory.agent_id FROM long_term_memory AS memory
WHERE memory.id = ?1 ->> 'id' AND +memory.tenant_id = ?1 ->> 'tenant_id'
"""
_CONTENTS = """
SELECT memory.id, substr(memory.content, 1, 400) AS content
FROM json_each(?1 -> 'ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.id = wanted.value AND +memory.tenant_id = ?1 ->> 'tenant_id'
"""


def by_id(scope: Scope, memory_id: str) -> ScopedStatement:
    """Read a memory, for ``read_memory``, and as ``holder`` the id of the memory that holds in its place, if any."""
    return ScopedStatement.read(scope, _BY_ID, id=memory_id)


def by_words(scope: Scope, words: Sequence[str]) -> ScopedStatement:
    """Read the newest memories that have all of these words, each in the syntax of FTS5; for ``read_memory``."""
    return ScopedStatement.read(scope, _BY_WORDS, words=" AND ".join(words))


def owner(tenant: Tenant, memory_id: str) -> ScopedStatement:
    """Read the agent of the tenant that has a memory; no row: none has."""
    return ScopedStatement.read(tenant, _OWNER, id=memory_id)


def contents(tenant: Tenant, ids: Sequence[str]) -> ScopedStatement:
    """Read the ``id`` and the beginning of the ``content`` of these memories, of whichever agents."""
    return ScopedStatement.read(tenant, _CONTENTS, ids=list(ids))
