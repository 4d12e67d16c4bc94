"""Statements that look up memories of whatever state: by an id, or by their words. Expired ones are among them.

They look up, too, what holds in a memory's place.
"""

from collections.abc import Sequence

from app.domain.comparing import STATED
from app.domain.memory import Scope, Tenant
from app.storage.rows import MEMORY_COLUMNS
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import holder, living, stated_by, successors

MAX_FOUND = 10
MAX_NEAR = 30
_READ_OF_EACH = 400
"""Characters of a content that are read where its beginning is enough."""
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
ORDER BY found.number DESC LIMIT ?1 ->> 'most'
"""
# A relation that a reader has found is a claim whose key begins with "~" (schema.sql), and has a probability. A key
# and a person's word are certain. What replaces all of a memory goes before what replaces a part.
# A statement that reads begins with SELECT.
_REPLACEMENTS = f"""
SELECT memory_id, by_id, whole, probability, content FROM (
  WITH older AS MATERIALIZED (
    SELECT memory.id AS memory_id, (
      SELECT json_array(later.memory_id, stated.whole, (
        SELECT found.probability FROM relation AS found
        WHERE stated.key GLOB '~*' AND found.tenant_id = ?1 ->> 'tenant_id' AND found.agent_id = ?1 ->> 'agent_id'
          AND found.newer_id = later.memory_id AND found.older_id = stated.memory_id AND found.version <> '{STATED}'
      ))
      FROM {successors(stated_by("memory"), "?1 ->> 'agent_id'")}
        AND holder.tenant_id = ?1 ->> 'tenant_id' AND holder.agent_id = ?1 ->> 'agent_id' AND {living("holder")}
        AND holder.id <> memory.id
      ORDER BY NOT stated.whole, holder.forgotten_at IS NOT NULL, stated.key GLOB '~*', later.happened_at DESC,
        later.memory_id DESC LIMIT 1
    ) AS replacement
    FROM json_each(?1 -> 'ids') AS wanted CROSS JOIN long_term_memory AS memory
    WHERE memory.id = wanted.value AND {_OWN}
  )
  SELECT memory_id, replacement ->> 0 AS by_id, replacement ->> 1 AS whole, replacement ->> 2 AS probability,
    substr(newer.content, 1, {_READ_OF_EACH}) AS content
  FROM older CROSS JOIN long_term_memory AS newer
  WHERE newer.id = replacement ->> 0 AND +newer.tenant_id = ?1 ->> 'tenant_id' AND +newer.agent_id = ?1 ->> 'agent_id'
)
"""
_ANY = """
SELECT 1 FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' LIMIT 1
"""
_OWNER = """
SELECT memory.agent_id FROM long_term_memory AS memory
WHERE memory.id = ?1 ->> 'id' AND +memory.tenant_id = ?1 ->> 'tenant_id'
"""
_CONTENTS = f"""
SELECT memory.id, substr(memory.content, 1, {_READ_OF_EACH}) AS content
FROM json_each(?1 -> 'ids') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.id = wanted.value AND +memory.tenant_id = ?1 ->> 'tenant_id'
  AND coalesce(+memory.agent_id = ?1 ->> 'agent_id', TRUE)
"""


def by_id(scope: Scope, memory_id: str) -> ScopedStatement:
    """Read a memory, for ``read_memory``, and as ``holder`` the id of the memory that holds in its place, if any."""
    return ScopedStatement.read(scope, _BY_ID, id=memory_id)


def by_words(scope: Scope, words: Sequence[str]) -> ScopedStatement:
    """Read the newest memories that have all of these words, each in the syntax of FTS5; for ``read_memory``."""
    return ScopedStatement.read(scope, _BY_WORDS, words=" AND ".join(words), most=MAX_FOUND)


def by_any_word(scope: Scope, words: Sequence[str]) -> ScopedStatement:
    """Read the newest memories that have one of these words, at most ``MAX_NEAR``; for ``read_memory``."""
    return ScopedStatement.read(scope, _BY_WORDS, words=" OR ".join(words), most=MAX_NEAR)


def replacements(scope: Scope, ids: Sequence[str]) -> ScopedStatement:
    """Read what holds in place of these memories: a row for each that another one has replaced, in whole or in part.

    Returns ``memory_id``, ``by_id`` with the beginning of its ``content``, ``whole``, and ``probability``, which is
    NULL where a key or a person has said so.
    """
    return ScopedStatement.read(scope, _REPLACEMENTS, ids=list(ids))


def any_of(scope: Scope) -> ScopedStatement:
    """Read one row where the agent has a memory of whatever state."""
    return ScopedStatement.read(scope, _ANY)


def owner(tenant: Tenant, memory_id: str) -> ScopedStatement:
    """Read the agent of the tenant that has a memory; no row: none has."""
    return ScopedStatement.read(tenant, _OWNER, id=memory_id)


def contents(owner: Scope | Tenant, ids: Sequence[str]) -> ScopedStatement:
    """Read the ``id`` and the beginning of the ``content`` of these memories, of an agent or of whichever agents."""
    return ScopedStatement.read(owner, _CONTENTS, ids=list(ids))
