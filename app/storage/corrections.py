"""The runs by which a person states that one memory replaces another, and takes that back.

Such a relation hides the older memory as one that a reader has found does (``schema.sql``), and no reader removes it.
"""

from functools import partial

from app.domain.author import Author
from app.domain.comparing import STATED
from app.domain.memory import Scope
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement

_BETWEEN = """
tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id'
  AND newer_id = ?1 ->> 'newer_id' AND older_id = ?1 ->> 'older_id'
"""
# A relation that a reader has found meanwhile gives way: its claims go with it.
_GIVE_WAY = f"DELETE FROM relation WHERE {_BETWEEN} AND version <> '{STATED}'"
_RELATE = f"""
INSERT INTO relation (tenant_id, agent_id, older_id, newer_id, name, probability, effect, version, compared_at)
SELECT newer.tenant_id, newer.agent_id, older.id, newer.id, 'replaces', 1, 'hides', '{STATED}', {NOW}
FROM long_term_memory AS newer CROSS JOIN long_term_memory AS older
WHERE newer.id = ?1 ->> 'newer_id' AND +newer.tenant_id = ?1 ->> 'tenant_id' AND +newer.agent_id = ?1 ->> 'agent_id'
  AND older.id = ?1 ->> 'older_id' AND +older.tenant_id = ?1 ->> 'tenant_id' AND +older.agent_id = ?1 ->> 'agent_id'
ON CONFLICT DO NOTHING RETURNING newer_id
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'older_id', ?1 ->> 'event',
  json_object('by', ?1 ->> 'newer_id'), ?1 ->> 'now', ?1 ->> 'by'
WHERE EXISTS (
  SELECT 1 FROM relation WHERE relation.tenant_id = ?1 ->> 'tenant_id' AND relation.agent_id = ?1 ->> 'agent_id'
    AND relation.newer_id = ?1 ->> 'newer_id' AND relation.older_id = ?1 ->> 'older_id'
    AND relation.version = '{STATED}'
) = ?1 ->> 'is_there'
"""
_UNRELATE = f"DELETE FROM relation WHERE {_BETWEEN} AND version = '{STATED}' RETURNING older_id"
_OF_NEWER = f"""
SELECT found.older_id FROM relation AS found
WHERE found.tenant_id = ?1 ->> 'tenant_id' AND found.agent_id = ?1 ->> 'agent_id'
  AND found.newer_id = ?1 ->> 'newer_id' AND found.version = '{STATED}'
ORDER BY found.older_id LIMIT 1
"""


def correct(scope: Scope, older_id: str, newer_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run by which a memory replaces another; where it does already, nothing is written.

    The last statement returns a row where the relation was written.
    """
    write = partial(ScopedStatement.write, scope, older_id=older_id, newer_id=newer_id)
    return [
        write(_GIVE_WAY),
        write(_AUDIT, event="corrected", is_there=0, now=now, by=author.credential_id),
        write(_RELATE),
    ]


def take_back(scope: Scope, older_id: str, newer_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run by which a memory replaces another no longer; the last statement returns a row where it did."""
    write = partial(ScopedStatement.write, scope, older_id=older_id, newer_id=newer_id)
    return [
        write(_AUDIT, event="correction_undone", is_there=1, now=now, by=author.credential_id),
        write(_UNRELATE),
    ]


def of_newer(scope: Scope, newer_id: str) -> ScopedStatement:
    """Read the ``older_id`` of the memory that a memory corrects; no row: it corrects none."""
    return ScopedStatement.read(scope, _OF_NEWER, newer_id=newer_id)
