"""The run that deletes the memories of a session, and its messages that are no memories yet, chunk by chunk.

Every prefix of it is harmless, as ``app.storage.deletions`` says of a deletion.
"""

from app.domain.author import Author
from app.domain.json_types import to_json
from app.domain.memory import Scope
from app.ports.database import NOW
from app.storage.learned_of import delete_proposals, with_learned
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.scoped import ScopedStatement

MAX_CHUNK = 500
"""How many memories, and how many messages, one run deletes."""

_OF_SESSION = """
{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'
  AND {table}.session_id = ?1 ->> 'session_id'
"""
# Each statement of a run selects the same memories, since only the last statement with this query deletes them.
_CHUNK = f"""
SELECT memory.id FROM long_term_memory AS memory INDEXED BY long_term_memory_session
WHERE {_OF_SESSION.format(table="memory")} ORDER BY memory.happened_at, memory.rowid LIMIT {MAX_CHUNK}
"""
_DELETED = with_learned(_CHUNK)
_OF_CHUNK = (
    f"+memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id' AND memory.id IN ({_DELETED})"
)
_OF_MESSAGES = _OF_SESSION.format(table="message")
# A session is the window of the instance of its name: the turns in it would become memories behind the deletion.
_DELETE_TURNS = """
DELETE FROM working_turn
WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND instance = ?1 ->> 'session_id'
RETURNING id
"""
_DELETE_SUMMARIES = """
DELETE FROM working_summary
WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND instance = ?1 ->> 'session_id'
"""
_DELETE_WINDOW = """
DELETE FROM working_window
WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND instance = ?1 ->> 'session_id'
"""
# Messages are deleted first, so that none of them becomes a memory behind the deletion.
_DELETE_MESSAGES = f"""
DELETE FROM message WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND id IN (
  SELECT message.id FROM message WHERE {_OF_MESSAGES} ORDER BY message.said_at, message.place LIMIT {MAX_CHUNK}
)
RETURNING id
"""
# Nor is a memory learned behind the deletion: a process that works on an ingestion of the session finds its lease gone.
_RELEASE = f"""
UPDATE ingestion SET lease_holder = NULL, lease_expires_at = {NOW}
WHERE {_OF_SESSION.format(table="ingestion")} AND ingestion.finished_at IS NULL
"""
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config
WHERE {_OF_CHUNK}
{QUEUED_AGAIN}
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, ?1 ->> 'event', ?1 ->> 'detail', ?1 ->> 'now', ?1 ->> 'by'
FROM long_term_memory AS memory WHERE {_OF_CHUNK}
"""
_DELETE_PROPOSALS = delete_proposals(_DELETED)
_DELETE = f"DELETE FROM long_term_memory AS memory WHERE {_OF_CHUNK} RETURNING id"
_IS_MORE = f"""
SELECT EXISTS ({_CHUNK}) OR EXISTS (SELECT 1 FROM message WHERE {_OF_MESSAGES}) AS more
"""


def delete_chunk(
    scope: Scope, session_id: str, author: Author, *, now: int, undone: bool = False
) -> list[ScopedStatement]:
    """Make the run that deletes the next chunk of a session.

    The first two statements return a row for each message that they deleted, the last but one a row for each memory,
    the last whether there is ``more``. The audit has a row for each memory: that it was deleted or, if ``undone``, that
    it was undone with its session.
    """
    event, detail = ("undone", to_json({"session_id": session_id})) if undone else ("deleted", "{}")
    by = author.credential_id
    return [
        ScopedStatement.write(scope, _DELETE_TURNS, session_id=session_id),
        ScopedStatement.write(scope, _DELETE_MESSAGES, session_id=session_id),
        ScopedStatement.write(scope, _DELETE_SUMMARIES, session_id=session_id),
        ScopedStatement.write(scope, _DELETE_WINDOW, session_id=session_id),
        ScopedStatement.write(scope, _RELEASE, session_id=session_id),
        ScopedStatement.write(scope, _DELETE_PROPOSALS, session_id=session_id),
        ScopedStatement.write(scope, _QUEUE_DELETES, session_id=session_id),
        ScopedStatement.write(scope, _AUDIT, session_id=session_id, event=event, detail=detail, now=now, by=by),
        ScopedStatement.write(scope, _DELETE, session_id=session_id),
        ScopedStatement.read(scope, _IS_MORE, session_id=session_id),
    ]
