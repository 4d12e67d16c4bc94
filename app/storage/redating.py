"""The run that gives a memory another moment, and its own end of life, in place.

Every prefix of it is harmless, as ``app.storage.memories`` says: until the memory's claims are written again, by the
store that follows, recalls find it beside what it corrects.
"""

from app.domain.author import Author
from app.domain.comparing import STATED
from app.domain.memory import Scope
from app.storage.scoped import ScopedStatement

_OWN = "tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'"
_OF = "{0}.tenant_id = ?1 ->> 'tenant_id' AND {0}.agent_id = ?1 ->> 'agent_id'"
_OBSTACLES = f"""
SELECT
  (
    SELECT held.id FROM long_term_memory AS held WHERE {_OF.format("held")} AND held.content_hash = ?1 ->> 'hash'
  ) AS holder,
  (
    SELECT other.id FROM long_term_memory AS other WHERE {_OF.format("other")}
      AND other.content_hash = ?1 ->> 'new_hash'
  ) AS taken_by,
  EXISTS (
    SELECT 1 FROM relation WHERE {_OF.format("relation")} AND relation.newer_id = ?1 ->> 'id'
      AND relation.version = '{STATED}'
  ) OR EXISTS (
    SELECT 1 FROM relation WHERE {_OF.format("relation")} AND relation.older_id = ?1 ->> 'id'
      AND relation.version = '{STATED}'
  ) AS corrects
"""
_NEWER = f"DELETE FROM relation WHERE {_OWN} AND newer_id = ?1 ->> 'id'"
_OLDER = f"DELETE FROM relation WHERE {_OWN} AND older_id = ?1 ->> 'id'"
_UNCLAIM = f"DELETE FROM claim WHERE {_OWN} AND memory_id = ?1 ->> 'id'"
# statements_read = 0: its statements wait for a reader, which compares it anew.
_MOVE = f"""
UPDATE long_term_memory
SET occurred_at = ?1 ->> 'occurred_at', content_hash = ?1 ->> 'new_hash', statements_read = 0
WHERE {_OWN} AND id = ?1 ->> 'id' AND content_hash = ?1 ->> 'hash' AND superseded_at IS NULL
"""
# A trigger of the schema looks whether the memory is still of this moment.
_EXPECT = """
INSERT INTO memory_expected (tenant_id, agent_id, id, content_hash)
VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', ?1 ->> 'hash')
"""
MOVED = "moved"
"""The reason for which a run is refused that begins with ``expect``."""
_EXPIRE = f"""
UPDATE long_term_memory SET expires_at = ?1 ->> 'expires_at'
WHERE {_OWN} AND id = ?1 ->> 'id' AND expires_at IS NOT ?1 ->> 'expires_at'
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'changed', ?1 ->> 'detail', ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory
WHERE {_OF.format("memory")} AND memory.id = ?1 ->> 'id'
"""


def obstacles(scope: Scope, memory_id: str, *, hash_: str, new_hash: str) -> ScopedStatement:
    """Read one row: the ``holder`` of the one hash, ``taken_by`` that of the other, and whether it ``corrects``.

    ``corrects``: a person has stated that the memory replaces another one, or that another one replaces it.
    """
    return ScopedStatement.read(scope, _OBSTACLES, id=memory_id, hash=hash_, new_hash=new_hash)


def move(scope: Scope, memory_id: str, occurred_at: int | None, *, hash_: str, new_hash: str) -> list[ScopedStatement]:
    """Make the run that gives a memory another moment; it has no claims then, and no relations."""
    return [
        ScopedStatement.write(scope, _NEWER, id=memory_id),
        ScopedStatement.write(scope, _OLDER, id=memory_id),
        ScopedStatement.write(scope, _UNCLAIM, id=memory_id),
        ScopedStatement.write(scope, _MOVE, id=memory_id, occurred_at=occurred_at, hash=hash_, new_hash=new_hash),
    ]


def expect(scope: Scope, memory_id: str, *, hash_: str) -> ScopedStatement:
    """Make the statement that refuses the run which it begins, where the memory has another hash."""
    return ScopedStatement.write(scope, _EXPECT, id=memory_id, hash=hash_)


def expire(scope: Scope, memory_id: str, expires_at: int | None) -> ScopedStatement:
    """Make the statement that sets when a memory expires; None: never."""
    return ScopedStatement.write(scope, _EXPIRE, id=memory_id, expires_at=expires_at)


def note(scope: Scope, memory_id: str, author: Author, *, now: int, detail: str) -> ScopedStatement:
    """Make the statement that gives the audit a row with what was changed of a memory."""
    return ScopedStatement.write(scope, _AUDIT, id=memory_id, detail=detail, now=now, by=author.credential_id)
