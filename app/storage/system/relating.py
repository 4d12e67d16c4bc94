"""Statements about memories that a reader has still to compare, and about the relations found. They cross tenants."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.claim import RELATION, MemoryType, Stated
from app.domain.comparing import STATED, ComparedStatement, Effect
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.domain.memory import STORE_KEY, Scope
from app.domain.reading import RelationName
from app.ports import database
from app.ports.database import NOW, Row
from app.storage.outbox import MAX_IN_BULK, MAX_PENDING
from app.storage.rows import read_rows
from app.storage.system.leases import NamedLease
from app.storage.system.unread import OWN_END
from app.storage.what_holds import living, shown

LEASE = NamedLease("relations")
"""One process at a time reads the memories that are left over; each process reads those that it has stored itself."""
SWEPT = 500
"""Memories that are marked to be read anew in one run."""

_NOT_MOVING = """
NOT EXISTS (SELECT 1 FROM tenant_epochs AS placed WHERE placed.tenant_id = memory.tenant_id AND placed.carried)
"""
"""No move writes the tenant's memories now, or has taken them away: arriving memories are read once all are there."""
_AS_READ = "json_array(memory.metadata, memory.learned, memory.speakers)"
"""The columns that decide what a memory states; they may have changed when its statements are written."""
_NEXT = f"""
SELECT id, tenant_id, agent_id FROM long_term_memory AS memory INDEXED BY long_term_memory_uncompared
WHERE statements_read = 0 AND id > ?1 ->> 'after' AND {_NOT_MOVING} ORDER BY id LIMIT ?1 ->> 'most'
"""
# These memories were never read: an older version stored them, or a run stopped.
_ADOPT = f"""
UPDATE long_term_memory SET statements_read = 0 WHERE id IN (
  SELECT id FROM long_term_memory WHERE statements_read IS NULL ORDER BY id LIMIT {SWEPT}
) RETURNING id
"""
# A process with other weights begins again; a process with the same weights goes on where the last one stopped.
_BEGIN = """
INSERT INTO reading (only_row, version, after) VALUES (1, ?1 ->> 'version', '') ON CONFLICT (only_row) DO UPDATE
SET version = excluded.version, after = '' WHERE reading.version <> excluded.version
"""
_MARK_UNREAD = f"""
UPDATE long_term_memory SET statements_read = 0 WHERE id IN (
  SELECT id FROM long_term_memory
  WHERE id > (SELECT after FROM reading WHERE version = ?1 ->> 'version') ORDER BY id LIMIT {SWEPT}
)
"""
_MOVE_ON = f"""
UPDATE reading SET after = (
  SELECT max(id) FROM (
    SELECT id FROM long_term_memory WHERE id > (SELECT after FROM reading) ORDER BY id LIMIT {SWEPT}
  )
) WHERE version = ?1 ->> 'version' AND after IS NOT NULL RETURNING after
"""
_COLUMNS = """
memory.id, memory.tenant_id, memory.agent_id, memory.content, memory.metadata, memory.happened_at,
  memory.speaker_holds, memory.speakers, memory.type, memory.learned, memory.message_id
"""
_UNREAD = f"""
SELECT {_COLUMNS}, (
    SELECT outbox.vector FROM outbox
    WHERE outbox.tenant_id = memory.tenant_id AND outbox.agent_id = memory.agent_id AND outbox.id = memory.id
      AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
  ) AS vector, {_AS_READ} AS as_read
FROM json_each(?1, '$.wanted') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.id = wanted.value ->> 'id' AND +memory.tenant_id = wanted.value ->> 'tenant_id'
  AND +memory.statements_read = 0 AND {_NOT_MOVING}
"""
# The vectors that the index may not show yet; of those queued in bulk only few are read. Forgotten memories are
# compared as well.
_PENDING = """
SELECT * FROM (
  SELECT outbox.id, outbox.vector FROM outbox INDEXED BY outbox_newest
  WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = ?1 ->> 'agent_id' AND outbox.operation = 'upsert'
    AND outbox.index_name = ?1 ->> 'index_name' AND outbox.in_bulk = {in_bulk}
  ORDER BY outbox.revision DESC LIMIT {most}
)
"""
_PENDING_OF_BOTH = f"""
{_PENDING.format(in_bulk=0, most=MAX_PENDING)} UNION ALL {_PENDING.format(in_bulk=1, most=MAX_IN_BULK)}
"""
_NEAR = f"""
SELECT {_COLUMNS}, memory.superseded_at
FROM json_each(?1, '$.wanted') AS wanted CROSS JOIN long_term_memory AS memory
WHERE memory.id = wanted.value ->> 'id' AND +memory.tenant_id = wanted.value ->> 'tenant_id'
  AND +memory.agent_id = wanted.value ->> 'agent_id'
  AND {living("memory")} AND {shown("memory")}
"""
_FORGET = f"""
DELETE FROM relation WHERE (tenant_id, agent_id, newer_id, older_id) IN (
  SELECT found.tenant_id, found.agent_id, found.newer_id, found.older_id
  FROM json_each(?1, '$.read') AS read CROSS JOIN relation AS found
  WHERE found.tenant_id = read.value ->> 'tenant_id' AND found.agent_id = read.value ->> 'agent_id'
    AND found.{{side}} = read.value ->> 'id' AND found.version NOT IN (?1 ->> 'version', '{STATED}')
)
"""
_RELATE = f"""
INSERT INTO relation (tenant_id, agent_id, older_id, newer_id, name, probability, effect, version, compared_at)
SELECT newer.tenant_id, newer.agent_id, older.id, newer.id, found.value ->> 'name', found.value ->> 'probability',
  found.value ->> 'effect', ?1 ->> 'version', {NOW}
FROM json_each(?1, '$.relations') AS found CROSS JOIN long_term_memory AS newer CROSS JOIN long_term_memory AS older
WHERE newer.id = found.value ->> 'newer_id' AND +newer.tenant_id = found.value ->> 'tenant_id'
  AND older.id = found.value ->> 'older_id' AND +older.tenant_id = newer.tenant_id AND +older.agent_id = newer.agent_id
ON CONFLICT DO NOTHING
"""
# A memory that has changed since it was read still waits, and keeps the claims that it was given meanwhile.
_UNCHANGED = f"""
+memory.tenant_id = read.value ->> 'tenant_id' AND +memory.statements_read = 0
  AND {_AS_READ} = read.value ->> 'as_read'
"""
# The claims that the rules of older versions had read in the memories go. A fact keeps its key: no reading changes it.
_UNCLAIM = f"""
DELETE FROM claim WHERE (tenant_id, agent_id, key, happened_at, memory_id) IN (
  SELECT old.tenant_id, old.agent_id, old.key, old.happened_at, old.memory_id
  FROM json_each(?1, '$.read') AS read CROSS JOIN claim AS old INDEXED BY claim_of_memory
  WHERE old.tenant_id = read.value ->> 'tenant_id' AND old.agent_id = read.value ->> 'agent_id'
    AND old.memory_id = read.value ->> 'id' AND NOT read.value ->> 'is_fact' AND old.key NOT GLOB '{RELATION}*'
    AND old.key NOT IN (SELECT stated.value ->> 'key' FROM json_each(read.value, '$.claims') AS stated)
    AND EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = old.memory_id AND {_UNCHANGED})
)
"""
_CLAIM = f"""
INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
SELECT memory.tenant_id, memory.agent_id, stated.value ->> 'key', memory.happened_at, memory.id,
  stated.value ->> 'value', stated.value ->> 'whole'
FROM json_each(?1, '$.read') AS read JOIN json_each(read.value, '$.claims') AS stated
  CROSS JOIN long_term_memory AS memory
WHERE memory.id = read.value ->> 'id' AND {_UNCHANGED} AND NOT (read.value ->> 'is_fact' AND EXISTS (
    SELECT 1 FROM claim AS own INDEXED BY claim_of_memory
    WHERE own.tenant_id = memory.tenant_id AND own.agent_id = memory.agent_id AND own.memory_id = memory.id
      AND own.key NOT GLOB '{RELATION}*'
  ))
ON CONFLICT DO NOTHING
"""
_RESTORE = f"""
UPDATE long_term_memory SET superseded_at = {OWN_END}
WHERE id IN (SELECT read.value ->> 'id' FROM json_each(?1, '$.read') AS read)
  AND superseded_at IS NOT NULL AND superseded_with IS NULL AND superseded_at IS NOT {OWN_END}
"""
_MARK = f"""
UPDATE long_term_memory AS memory SET statements_read = 1, type = read.value ->> 'type'
FROM json_each(?1, '$.read') AS read WHERE memory.id = read.value ->> 'id' AND {_UNCHANGED}
"""


@dataclass(frozen=True, slots=True)
class MemoryAddress:
    """A memory by its scope and its id."""

    tenant_id: str
    agent_id: str
    id: str

    @property
    def scope(self) -> Scope:
        """The scope of the memory."""
        return Scope(self.tenant_id, self.agent_id)

    @property
    def argument(self) -> dict[str, Json]:
        """The values that name the memory in a statement."""
        return {"tenant_id": self.tenant_id, "agent_id": self.agent_id, "id": self.id}


@dataclass(frozen=True, slots=True)
class RelatedMemory:
    """A memory that is compared, with the columns that the comparison needs.

    Attributes:
        vector: The vector as it is queued for the index.
        as_read: The columns that decide what the memory states, as they were when it was read.
    """

    id: str
    tenant_id: str
    agent_id: str
    content: str
    metadata: dict[str, Json]
    happened_at: int
    speaker_holds: bool
    speakers: list[str] | None
    type: MemoryType | None
    learned: Learned | None
    message_id: str | None
    vector: str | None = None
    superseded_at: int | None = None
    as_read: str | None = None

    @property
    def named(self) -> MemoryAddress:
        """The address of the memory."""
        return MemoryAddress(self.tenant_id, self.agent_id, self.id)

    @property
    def statement(self) -> ComparedStatement:
        """The statement that is compared."""
        return ComparedStatement(
            self.id,
            self.content,
            self.metadata,
            self.happened_at,
            self.speaker_holds,
            self.speakers,
            self.message_id,
            () if self.learned is None else self.learned.message_ids,
        )


@dataclass(frozen=True, slots=True)
class Found:
    """The relation of a newer memory to an older one, and the effect that follows from it."""

    tenant_id: str
    older_id: str
    newer_id: str
    name: RelationName
    probability: float
    effect: Effect | None

    @property
    def argument(self) -> dict[str, Json]:
        """The values of the relation's row."""
        return {
            "tenant_id": self.tenant_id,
            "older_id": self.older_id,
            "newer_id": self.newer_id,
            "name": self.name,
            "probability": self.probability,
            "effect": self.effect,
        }


def read_next(most: int, after: str) -> database.Statement:
    """Read the next memories that wait, whose ids come after ``after``, as rows of ``MemoryAddress``."""
    return database.Statement.read(_NEXT, most=most, after=after)


def adopt() -> database.Statement:
    """Let the next memories wait whose statements were never read; returns their ids."""
    return database.Statement.write(_ADOPT)


def begin(version: str) -> database.Statement:
    """Note the weights with which memories are read; where the last weights were others, all memories are read anew."""
    return database.Statement.write(_BEGIN, version=version)


def sweep(version: str) -> list[database.Statement]:
    """Let the next memories wait that were read with other weights; the last statement returns ``after``.

    ``after`` is NULL when no memory is left. No row is returned where none was left before, or where another process
    reads with other weights meanwhile.
    """
    return [database.Statement.write(text, version=version) for text in (_MARK_UNREAD, _MOVE_ON)]


def read_unread(memories: Sequence[MemoryAddress], index_name: str) -> database.Statement:
    """Read those of the memories that still wait, as rows of ``RelatedMemory`` with their queued vectors."""
    return database.Statement.read(_UNREAD, wanted=[memory.argument for memory in memories], index_name=index_name)


def read_pending(scope: Scope, index_name: str) -> database.Statement:
    """Read the vectors of a scope that are queued for an index, with their memories' ids."""
    return database.Statement.read(_PENDING_OF_BOTH, index_name=index_name, **scope.argument)


def read_near(memories: Sequence[MemoryAddress]) -> database.Statement:
    """Read those of the memories that may be compared with others, as rows of ``RelatedMemory``."""
    return database.Statement.read(_NEAR, wanted=[memory.argument for memory in memories])


def write(
    read: Sequence[tuple[RelatedMemory, Stated]], found: Sequence[Found], version: str
) -> list[database.Statement]:
    """Write the relations and claims of memories, and that these were read. Memories of a run that stops still wait.

    ``read`` has for each memory its explicit statements and its type; facts keep the keys that they have.
    """
    marks: list[Json] = [
        memory.named.argument
        | {
            "as_read": memory.as_read,
            "type": stated.type,
            "is_fact": int(memory.statement.is_fact and STORE_KEY not in memory.metadata),
            "claims": [{"key": one.key, "value": one.value, "whole": int(one.whole)} for one in stated.claims],
        }
        for memory, stated in read
    ]
    relations: list[Json] = [one.argument for one in found]
    make = database.Statement.write
    return [
        *(make(_FORGET.format(side=side), read=marks, version=version) for side in ("newer_id", "older_id")),
        make(_UNCLAIM, read=marks),
        make(_CLAIM, read=marks),
        make(_RESTORE, read=marks),
        *([make(_RELATE, relations=relations, version=version)] if relations else []),
        make(_MARK, read=marks),
    ]


def read_compared(rows: Sequence[Row]) -> list[RelatedMemory]:
    """Read the rows of ``read_unread`` and ``read_near``."""
    return read_rows(RelatedMemory, rows)
