"""Statements of reconcile, which compares the index with the database. They cross tenants; no request imports them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.embedding import EmbeddingConfig, Vector, lengths
from app.domain.json_types import Json, to_json
from app.domain.learned import Learned
from app.domain.memory import Scope
from app.ports.database import NOW, Statement
from app.ports.index_admin import Expected
from app.storage.embedding_configs import ACTIVE
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.system.index_build import BUILDING
from app.storage.system.leases import NamedLease

LEASE = NamedLease("reconcile", 60_000)
"""Each step renews the lease. A step may be a call of an embedder and a wait for the next call."""
_MAX_WINDOW = 5000
_MAX_CLEARED = 10_000
_MAX_COMPARED = 100

_BEGIN = f"""
INSERT INTO reconcile (singleton, index_name, started_at, phase, findings, repairs)
VALUES (1, ?1 ->> 'index_name', {NOW}, 'listing', '{{}}', ?1 ->> 'repairs')
ON CONFLICT (singleton) DO UPDATE SET repairs = reconcile.repairs AND excluded.repairs
"""
_READ_STATE = Statement.read("""
SELECT index_name, started_at, phase, cursor, findings, repairs, (SELECT count(*) FROM long_term_memory) AS memories
FROM reconcile
""")
_SAVE = "UPDATE reconcile SET phase = ?1 ->> 'phase', cursor = ?1 ->> 'cursor', findings = ?1 ->> 'findings'"
_END = Statement.write("DELETE FROM reconcile")
CLEAR_LISTED = Statement.write(
    f"DELETE FROM reconcile_listed WHERE id IN (SELECT id FROM reconcile_listed LIMIT {_MAX_CLEARED}) RETURNING 1"
)
"""Deletes some of the listed ids; returns a row for each."""

_ADD_LISTED = (
    "INSERT INTO reconcile_listed (id) SELECT value FROM json_each(?1, '$.ids') WHERE TRUE ON CONFLICT DO NOTHING"
)
_ORPHANS = """
SELECT value AS id FROM json_each(?1, '$.ids')
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = value)
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = value AND outbox.index_name = ?1 ->> 'index_name')
"""
_BYTES = "length(CAST(memory.content AS BLOB)) + coalesce(length(CAST(memory.learned AS BLOB)), 0)"
_STALE = f"""
SELECT memory.id, {_BYTES} AS bytes
FROM json_each(?1, '$.ids') CROSS JOIN long_term_memory AS memory
WHERE memory.id = value
  AND (memory.embedding_provider, memory.embedding_model, memory.embedding_dimensions) NOT IN (
    SELECT config.provider, config.model, config.dimensions FROM embedding_config AS config
  )
"""
# A queued vector is damaged where ``app.domain.embedding.encode`` gives no vector of its length.
_UNREADABLE = """
(outbox.operation = 'upsert' AND length(outbox.vector) NOT IN (SELECT value FROM json_each(?1, '$.lengths')))
"""
# Where the removal of a memory's vector is queued, the index lacks the memory. Where the active index's removal is
# queued too, a deletion is not finished yet.
_REMOVED = f"""
(outbox.operation = 'delete' AND NOT EXISTS (
  SELECT 1 FROM outbox AS deletion
  WHERE deletion.tenant_id = memory.tenant_id AND deletion.agent_id = memory.agent_id AND deletion.id = memory.id
    AND deletion.index_name = {ACTIVE} AND deletion.operation = 'delete'
))
"""
_MISSING = f"""
SELECT memory.id, {_BYTES} AS bytes, memory.created_at, coalesce({_UNREADABLE}, FALSE) AS unreadable FROM (
  SELECT id, tenant_id, agent_id, content, learned, created_at FROM long_term_memory
  WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_MAX_WINDOW}
) AS memory
LEFT JOIN outbox ON outbox.tenant_id = memory.tenant_id AND outbox.agent_id = memory.agent_id
  AND outbox.id = memory.id AND outbox.index_name = ?1 ->> 'index_name'
WHERE {_UNREADABLE} OR {_REMOVED} OR (
  outbox.id IS NULL AND NOT EXISTS (SELECT 1 FROM reconcile_listed AS listed WHERE listed.id = memory.id)
)
ORDER BY memory.id
"""
_MEMORIES = f"""
SELECT memory.id, {_BYTES} AS bytes FROM json_each(?1, '$.ids') CROSS JOIN long_term_memory AS memory
WHERE memory.id = value
"""
_READ_WINDOW = f"""
SELECT max(id) AS last, count(*) AS memories FROM (
  SELECT id FROM long_term_memory WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_MAX_WINDOW}
)
"""

# Memories are compared scope by scope: the rest of the scope of the last compared memory, then the scopes that follow.
_MEMORY = f"""
SELECT memory.tenant_id, memory.agent_id, memory.id, memory.created_at, memory.metadata, {_BYTES} AS bytes
FROM long_term_memory AS memory
"""
_QUEUED_ALREADY = """
EXISTS (
  SELECT 1 FROM outbox WHERE outbox.tenant_id = memory.tenant_id AND outbox.agent_id = memory.agent_id
    AND outbox.id = memory.id AND outbox.index_name = ?1 ->> 'index_name'
) AS queued
"""
_COMPARED = f"""
SELECT memory.*, {_QUEUED_ALREADY} FROM (
  SELECT * FROM (
    {_MEMORY} WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
      AND memory.created_at <= ?1 ->> 'created_at'
      AND (memory.created_at < ?1 ->> 'created_at' OR memory.id > ?1 ->> 'id')
    ORDER BY memory.created_at DESC, memory.id LIMIT {_MAX_COMPARED}
  )
  UNION ALL
  SELECT * FROM (
    {_MEMORY} WHERE (memory.tenant_id, memory.agent_id) > (?1 ->> 'tenant_id', ?1 ->> 'agent_id')
    ORDER BY memory.tenant_id, memory.agent_id, memory.created_at DESC, memory.id LIMIT {_MAX_COMPARED}
  )
  LIMIT {_MAX_COMPARED}
) AS memory
"""
_COMPARED_AGAIN = f"""
SELECT memory.*, {_QUEUED_ALREADY} FROM json_each(?1, '$.ids') CROSS JOIN ({_MEMORY}) AS memory WHERE memory.id = value
"""

_CONTENTS = """
SELECT memory.id, memory.content, memory.learned FROM json_each(?1, '$.ids') CROSS JOIN long_term_memory AS memory
WHERE memory.id = value
"""
_QUEUE_UPSERTS = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at, in_bulk)
SELECT memory.tenant_id, memory.agent_id, memory.id, ?1 ->> 'index_name', 'upsert', {NOW}, value ->> 'vector',
  {NOW} + {GRACE_MS}, 1
FROM json_each(?1, '$.vectors') CROSS JOIN long_term_memory AS memory WHERE memory.id = value ->> 'id'
{QUEUED_AGAIN}
"""
_SET_CONFIG = """
UPDATE long_term_memory SET embedding_provider = ?1 ->> 'provider', embedding_model = ?1 ->> 'model',
  embedding_dimensions = ?1 ->> 'dimensions'
WHERE id IN (SELECT value ->> 'id' FROM json_each(?1, '$.vectors'))
"""
_QUEUED = f"""
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name, outbox.operation, outbox.revision,
  outbox.vector, memory.created_at, memory.metadata
FROM json_each(?1, '$.vectors') CROSS JOIN long_term_memory AS memory CROSS JOIN outbox
WHERE memory.id = value ->> 'id' AND outbox.tenant_id = memory.tenant_id AND outbox.agent_id = memory.agent_id
  AND outbox.id = memory.id AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
  AND outbox.index_name NOT IN {BUILDING}
"""
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT value ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', ?1 ->> 'index_name', 'delete', {NOW}, {NOW}
FROM json_each(?1, '$.orphans')
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = value ->> 'id')
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class ReconcileState:
    """The progress of a reconcile, which another process can continue.

    ``phase`` is ``listing``, ``missing`` or ``comparing``; ``cursor`` is the cursor of the index's listing, the last id
    that was checked, or the cursor of the last compared memory. ``repairs``: whether all findings are repaired.
    """

    index_name: str
    started_at: int
    phase: str
    cursor: str | None
    findings: dict[str, Any]
    repairs: bool
    memories: int


@dataclass(frozen=True, slots=True)
class UnindexedMemory:
    """A memory that has to be embedded again, and about how many bytes its embedded text has in UTF-8."""

    id: str
    bytes: int
    created_at: int = 0
    unreadable: bool = False
    """Whether a damaged vector is queued for the memory."""


@dataclass(frozen=True, slots=True)
class ComparedMemory:
    """A memory whose vector is compared with it, and whether a change of the vector is queued."""

    tenant_id: str
    agent_id: str
    id: str
    created_at: int
    metadata: dict[str, Json]
    bytes: int
    queued: bool

    def expected(self, values: Vector | None) -> Expected:
        """Return the record that the index is to show of the memory."""
        return Expected(Scope(self.tenant_id, self.agent_id), self.id, self.created_at, self.metadata, values)

    @property
    def cursor(self) -> str:
        """Return the cursor from which ``read_compared`` goes on."""
        return to_json([self.tenant_id, self.agent_id, self.created_at, self.id])


@dataclass(frozen=True, slots=True)
class MemoryWindow:
    """A window of the walk over all memories: its last id, or None where it is empty, and its number of memories."""

    last: str | None
    memories: int


@dataclass(frozen=True, slots=True)
class Content:
    """The parts of a memory that are embedded."""

    id: str
    content: str
    learned: Learned | None

    @property
    def embedded_text(self) -> str:
        """Return the text that is embedded, as ``Memory.embedded_text`` does."""
        return self.content if self.learned is None else self.learned.embedded_text(self.content)


def begin(index_name: str, *, repairs: bool) -> list[Statement]:
    """Begin a reconcile unless one is under way; the second statement returns its ``ReconcileState``."""
    return [Statement.write(_BEGIN, index_name=index_name, repairs=repairs), _READ_STATE]


def save(phase: str, cursor: str | None, findings: Mapping[str, Json]) -> Statement:
    """Save the progress."""
    return Statement.write(_SAVE, phase=phase, cursor=cursor, findings=to_json(findings))


def add_listed(ids: Sequence[str], config: EmbeddingConfig) -> list[Statement]:
    """Keep ids that the index has listed.

    The last two statements return the ids of orphans, and rows of ``UnindexedMemory``: the stale memories, whose config
    is not in use.
    """
    return [
        Statement.write(_ADD_LISTED, ids=list(ids)),
        Statement.read(_ORPHANS, ids=list(ids), index_name=config.index_name),
        Statement.read(_STALE, ids=list(ids)),
    ]


def read_missing(after: str, config: EmbeddingConfig) -> list[Statement]:
    """Read the memories of the next window that are neither listed nor queued, or whose queued change is no vector.

    Then read the ``MemoryWindow``.
    """
    return [
        Statement.read(_MISSING, after=after, index_name=config.index_name, lengths=list(lengths(config.dimensions))),
        Statement.read(_READ_WINDOW, after=after),
    ]


def read_compared(cursor: str | None, config: EmbeddingConfig) -> Statement:
    """Read the next memories to compare as rows of ``ComparedMemory``, those of a scope together."""
    tenant_id, agent_id, created_at, id_ = json.loads(cursor) if cursor else ("", "", 0, "")
    after: dict[str, Json] = {"tenant_id": tenant_id, "agent_id": agent_id, "created_at": created_at, "id": id_}
    return Statement.read(_COMPARED, index_name=config.index_name, **after)


def read_compared_again(ids: Sequence[str], config: EmbeddingConfig) -> Statement:
    """Read those of the memories that still exist, as rows of ``ComparedMemory``."""
    return Statement.read(_COMPARED_AGAIN, index_name=config.index_name, ids=list(ids))


def read_memories(ids: Sequence[str]) -> Statement:
    """Read those of the memories that exist, as rows of ``UnindexedMemory``."""
    return Statement.read(_MEMORIES, ids=list(ids))


def read_contents(ids: Sequence[str]) -> Statement:
    """Read memories as rows of ``Content``."""
    return Statement.read(_CONTENTS, ids=list(ids))


def queue_upserts(vectors: Mapping[str, str], config: EmbeddingConfig) -> list[Statement]:
    """Queue encoded vectors by id, for memories that still exist; the last statement returns ``QueuedChange`` rows."""
    queued: list[Json] = [{"id": id_, "vector": vector} for id_, vector in vectors.items()]
    argument: dict[str, Json] = {"vectors": queued, **config.argument}
    return [
        Statement.write(_QUEUE_UPSERTS, repeatable=True, **argument),
        Statement.write(_SET_CONFIG, repeatable=True, **argument),
        Statement.read(_QUEUED, **argument),
    ]


def queue_deletes(orphans: Sequence[Mapping[str, Json]], config: EmbeddingConfig) -> Statement:
    """Queue the removal of vectors that have no memory."""
    return Statement.write(_QUEUE_DELETES, orphans=list(orphans), index_name=config.index_name)


def end(holder: str) -> list[Statement]:
    """Delete the progress and release the lease."""
    return [_END, LEASE.release(holder)]
