"""Statements over the messages of one ingestion that were taken and are no memories yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.messages import Message, Role
from app.ports.database import Row
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import living

BATCH_MESSAGES, BATCH_BYTES = 100, 500_000
"""The messages that are read and embedded at once, and their bytes, at most."""

STAGED = """
message.tenant_id = ?1 ->> 'tenant_id' AND message.agent_id = ?1 ->> 'agent_id'
  AND message.session_id = ?1 ->> 'session_id' AND message.ingestion_id = ?1 ->> 'id'
"""
"""The condition, in SQL, that a message is one of the ingestion's."""
_IS_MEMORY = f"""
SELECT 1 FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.message_id = {{id}}
  AND {living("memory")}
"""
_WRITTEN = f"""
SELECT wanted.value AS id FROM json_each(?1, '$.ids') AS wanted
WHERE EXISTS ({_IS_MEMORY.format(id="wanted.value")})
"""
_STAGED_OF = f"SELECT message.id FROM message WHERE {STAGED}"
# A message that is there already, as a memory or on its way to one, stays as it is.
_STAGE = f"""
INSERT INTO message (tenant_id, agent_id, id, ingestion_id, place, session_id, role, content, said_at, content_hash)
SELECT begun.tenant_id, begun.agent_id, said.value ->> 'id', begun.id, said.value ->> 'place', begun.session_id,
  said.value ->> 'role', said.value ->> 'content', said.value ->> 'said_at', said.value ->> 'content_hash'
FROM ingestion AS begun CROSS JOIN json_each(?1, '$.said') AS said
WHERE begun.tenant_id = ?1 ->> 'tenant_id' AND begun.agent_id = ?1 ->> 'agent_id' AND begun.id = ?1 ->> 'id'
  AND begun.finished_at IS NULL AND NOT EXISTS ({_IS_MEMORY.format(id="said.value ->> 'id'")})
  AND NOT EXISTS (
    SELECT 1 FROM erasure WHERE erasure.tenant_id = begun.tenant_id
      AND (erasure.agent_id IS NULL OR erasure.agent_id = begun.agent_id) AND erasure.receipt IS NULL
  )
ON CONFLICT DO NOTHING
"""
# The inner queries read keys and sizes alone, so that messages that do not fit into the batch are not carried along.
_NEXT = f"""
SELECT message.id, message.session_id, message.role, message.content, message.said_at,
  (SELECT count(*) FROM message WHERE {STAGED}) AS waiting,
  (SELECT sum(counted_bytes) FROM message WHERE {STAGED}) AS waiting_bytes,
  held.id IS NOT NULL AS held, held.message_id AS held_by, held.metadata AS held_metadata,
  coalesce(NOT {living("held")}, 0) AS held_expired
FROM (
  SELECT number, said_at, place,
    sum(bytes) OVER (ORDER BY said_at, place ROWS UNBOUNDED PRECEDING) - bytes AS before
  FROM (
    SELECT message.rowid AS number, message.said_at, message.place, length(CAST(message.content AS BLOB)) AS bytes
    FROM message WHERE {STAGED} ORDER BY message.said_at, message.place LIMIT ?1 ->> 'most'
  )
) AS batch CROSS JOIN message
LEFT JOIN long_term_memory AS held
  ON held.tenant_id = message.tenant_id AND held.agent_id = message.agent_id
  AND held.content_hash = message.content_hash
WHERE message.tenant_id = ?1 ->> 'tenant_id' AND message.rowid = batch.number AND batch.before < ?1 ->> 'most_bytes'
ORDER BY batch.said_at, batch.place
"""
_HOLDERS = f"""
SELECT wanted.value AS content_hash, held.message_id AS held_by, held.metadata AS held_metadata,
  NOT {living("held")} AS held_expired
FROM json_each(?1, '$.hashes') AS wanted CROSS JOIN long_term_memory AS held
WHERE held.tenant_id = ?1 ->> 'tenant_id' AND held.agent_id = ?1 ->> 'agent_id' AND held.content_hash = wanted.value
"""
_UNSTAGE = """
DELETE FROM message WHERE (tenant_id, agent_id, id) IN (
  SELECT written.tenant_id, written.agent_id, written.message_id
  FROM json_each(?1, '$.ids') AS said CROSS JOIN long_term_memory AS written
  WHERE written.tenant_id = ?1 ->> 'tenant_id' AND written.agent_id = ?1 ->> 'agent_id'
    AND written.message_id = said.value
)
"""


@dataclass(frozen=True, slots=True)
class MessageMemory:
    """The memory that has the content of a message, its session and its moment; the fields are columns."""

    held_by: str | None
    """The id of the message that the memory is; None: it is none."""
    held_metadata: str
    held_expired: bool


@dataclass(frozen=True, slots=True)
class Staged:
    """A message that is to be written, and the memory that has its content already."""

    message: Message
    held: MessageMemory | None


def written(scope: Scope, ids: Sequence[str]) -> ScopedStatement:
    """Read the ``id`` of those messages that are memories."""
    return ScopedStatement.read(scope, _WRITTEN, ids=list(ids))


def holders(scope: Scope, hashes: Sequence[str]) -> ScopedStatement:
    """Read the memories that have contents: ``content_hash`` and the columns of ``MessageMemory``."""
    return ScopedStatement.read(scope, _HOLDERS, hashes=list(hashes))


def unstage(scope: Scope, ids: Sequence[str]) -> ScopedStatement:
    """Drop those messages that have become memories."""
    return ScopedStatement.write(scope, _UNSTAGE, ids=list(ids))


@dataclass(frozen=True, slots=True)
class Messages:
    """Statements over the messages of one ingestion. The ingestion is bound here, once."""

    scope: Scope
    session_id: str
    ingestion_id: str

    def stage(self, said: Sequence[Mapping[str, Json]]) -> ScopedStatement:
        """Take messages (``to_row``) that are not there yet."""
        return ScopedStatement.write(self.scope, _STAGE, repeatable=True, **self._own, said=list(said))

    def staged(self) -> ScopedStatement:
        """Read the ``id`` of each message of the ingestion."""
        return ScopedStatement.read(self.scope, _STAGED_OF, **self._own)

    def next(self) -> ScopedStatement:
        """Read the next messages in the order in which they were said, for ``staged``.

        Each row has the number of messages ``waiting`` in all, and the ``waiting_bytes`` that these count.
        """
        return ScopedStatement.read(self.scope, _NEXT, **self._own, most=BATCH_MESSAGES, most_bytes=BATCH_BYTES)

    @property
    def _own(self) -> dict[str, Json]:
        return {"id": self.ingestion_id, "session_id": self.session_id}


def to_row(message: Message, place: int) -> dict[str, Json]:
    """Return a message as ``Messages.stage`` takes it."""
    return {
        "id": message.id,
        "place": place,
        "role": message.role,
        "content": message.content,
        "said_at": message.said_at,
        "content_hash": message.content_hash,
    }


@dataclass(frozen=True, slots=True)
class _MessageRow:
    id: str
    session_id: str
    role: str
    content: str
    said_at: int


def staged(rows: Sequence[Row]) -> list[Staged]:
    """Read the rows of ``Messages.next``."""
    return [
        Staged(
            Message(said.id, said.session_id, cast(Role, said.role), said.content, said.said_at),
            read_row(MessageMemory, row) if row["held"] else None,
        )
        for row, said in zip(rows, read_rows(_MessageRow, rows), strict=True)
    ]
