"""The runs that mark a memory as forgotten, and that take the mark away (docs/constrained-api.md).

The mark is all that changes: claims, words and vectors stay, so that it can be taken back. Every prefix of a run is
harmless, as ``app.storage.memories`` says.
"""

from app.domain.author import Author
from app.domain.memory import Scope
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import holder, living

_MEMORY = f"""
memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = ?1 ->> 'id'
  AND {living("memory")}
"""
_IS_ON = """
NOT EXISTS (
  SELECT 1 FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
    AND NOT agent.long_term_enabled
)
"""
# A memory that was forgotten only with its message (schema.sql) may be forgotten by itself too.
_IS_REMEMBERED = "(memory.forgotten_at IS NULL OR memory.forgotten_with IS NOT NULL)"
_FORGETTABLE = f"{_MEMORY} AND {_IS_ON} AND {_IS_REMEMBERED} AND {holder('memory')} IS NULL"
_FORGOTTEN = f"{_MEMORY} AND {_IS_ON} AND NOT {_IS_REMEMBERED}"
_AUDIT = """
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, ?1 ->> 'event', '{{}}', ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory WHERE {condition}
"""
_MARK = """
UPDATE long_term_memory AS memory
SET forgotten_at = ?1 ->> 'forgotten_at', forgotten_with = NULL,
  forgotten_by = iif(?1 ->> 'forgotten_at' IS NULL, NULL, ?1 ->> 'by')
WHERE {condition}
"""
_HOLDER = f"SELECT {holder('memory')} AS holder FROM long_term_memory AS memory WHERE {_MEMORY}"


def forget(scope: Scope, memory_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run that forgets a memory, unless it is superseded or forgotten already.

    Where the agent's long-term memory is switched off, nothing is changed either.

    The last statement returns the ``holder``: the id of the memory that holds in place of this one, which is superseded
    then, else NULL.
    """
    return [
        *_marked(scope, memory_id, author, _FORGETTABLE, event="forgotten", now=now, forgotten_at=now),
        ScopedStatement.read(scope, _HOLDER, id=memory_id),
    ]


def unforget(scope: Scope, memory_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run that takes a memory's mark away, where it has one."""
    return _marked(scope, memory_id, author, _FORGOTTEN, event="remembered_again", now=now, forgotten_at=None)


def _marked(
    scope: Scope,
    memory_id: str,
    author: Author,
    condition: str,
    *,
    event: str,
    now: int,
    forgotten_at: int | None,
) -> list[ScopedStatement]:
    return [
        ScopedStatement.write(
            scope, _AUDIT.format(condition=condition), id=memory_id, event=event, now=now, by=author.credential_id
        ),
        ScopedStatement.write(
            scope, _MARK.format(condition=condition), id=memory_id, forgotten_at=forgotten_at, by=author.credential_id
        ),
    ]
