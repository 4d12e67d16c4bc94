"""The statements of reconcile. They cross tenants; no request imports them."""

from collections.abc import Mapping, Sequence

from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json, to_json
from app.ports.database import NOW, Statement
from app.storage.embedding_configs import named
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.system import leases

LEASE = "reconcile"
_WINDOW = 5000
_CLEARED = 10_000

_BEGIN = f"""
INSERT INTO reconcile (singleton, index_name, started_at, phase, findings)
VALUES (1, ?1 ->> 'index_name', {NOW}, 'listing', '{{}}') ON CONFLICT DO NOTHING
"""
_STATE = """
SELECT index_name, started_at, phase, cursor, findings, (SELECT count(*) FROM long_term_memory) AS memories
FROM reconcile
"""
_KEEP = "UPDATE reconcile SET phase = ?1 ->> 'phase', cursor = ?1 ->> 'cursor', findings = ?1 ->> 'findings'"
_END = "DELETE FROM reconcile"
_CLEAR = f"DELETE FROM reconcile_listed WHERE id IN (SELECT id FROM reconcile_listed LIMIT {_CLEARED}) RETURNING 1"

_LISTED = "INSERT INTO reconcile_listed (id) SELECT value FROM json_each(?1, '$.ids') WHERE TRUE ON CONFLICT DO NOTHING"
_ORPHANS = """
SELECT value AS id FROM json_each(?1, '$.ids')
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = value)
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = value AND outbox.index_name = ?1 ->> 'index_name')
"""
_STALE = """
SELECT memory.id, length(CAST(memory.content AS BLOB)) AS bytes
FROM json_each(?1, '$.ids') CROSS JOIN long_term_memory AS memory
WHERE memory.id = value
  AND (memory.embedding_provider, memory.embedding_model, memory.embedding_dimensions) NOT IN (
    SELECT config.provider, config.model, config.dimensions FROM embedding_config AS config
  )
"""
_MISSING = f"""
SELECT memory.id, length(CAST(memory.content AS BLOB)) AS bytes, memory.created_at FROM (
  SELECT id, tenant_id, agent_id, content, created_at FROM long_term_memory
  WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_WINDOW}
) AS memory
WHERE NOT EXISTS (SELECT 1 FROM reconcile_listed AS listed WHERE listed.id = memory.id)
  AND NOT EXISTS (
    SELECT 1 FROM outbox
    WHERE outbox.tenant_id = memory.tenant_id AND outbox.agent_id = memory.agent_id AND outbox.id = memory.id
      AND outbox.index_name = ?1 ->> 'index_name'
  )
ORDER BY memory.id
"""
_LAST = f"""
SELECT max(id) AS last, count(*) AS memories FROM (
  SELECT id FROM long_term_memory WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_WINDOW}
)
"""

_CONTENTS = """
SELECT memory.id, memory.content FROM json_each(?1, '$.ids') CROSS JOIN long_term_memory AS memory
WHERE memory.id = value
"""
_QUEUE_UPSERTS = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, ?1 ->> 'index_name', 'upsert', {NOW}, value ->> 'vector',
  {NOW} + {GRACE_MS}
FROM json_each(?1, '$.vectors') CROSS JOIN long_term_memory AS memory WHERE memory.id = value ->> 'id'
{QUEUED_AGAIN}
"""
_RENEW_CONFIG = """
UPDATE long_term_memory SET embedding_provider = ?1 ->> 'provider', embedding_model = ?1 ->> 'model',
  embedding_dimensions = ?1 ->> 'dimensions'
WHERE id IN (SELECT value ->> 'id' FROM json_each(?1, '$.vectors'))
"""
_QUEUED = """
SELECT outbox.tenant_id, outbox.agent_id, outbox.id, outbox.index_name, outbox.revision, outbox.vector,
  memory.created_at, memory.metadata
FROM json_each(?1, '$.vectors') CROSS JOIN long_term_memory AS memory CROSS JOIN outbox
WHERE memory.id = value ->> 'id' AND outbox.tenant_id = memory.tenant_id AND outbox.agent_id = memory.agent_id
  AND outbox.id = memory.id AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
"""
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT value ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', ?1 ->> 'index_name', 'delete', {NOW}, {NOW}
FROM json_each(?1, '$.orphans')
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = value ->> 'id')
ON CONFLICT DO NOTHING
"""


def begin(index_name: str) -> list[Statement]:
    """Begin, or find what was begun; the second statement returns how far it is."""
    return [
        Statement(_BEGIN, {"index_name": index_name}, writes=True, repeatable=True),
        Statement(_STATE),
    ]


def keep(phase: str, cursor: str | None, findings: Mapping[str, Json]) -> Statement:
    """Keep how far it is."""
    argument: dict[str, Json] = {"phase": phase, "cursor": cursor, "findings": to_json(findings)}
    return Statement(_KEEP, argument, writes=True, repeatable=True)


def listed(ids: Sequence[str], config: EmbeddingConfig) -> list[Statement]:
    """Note ids the index has listed; the last two statements return orphans, and memories of a config not kept."""
    argument: dict[str, Json] = {"ids": list(ids), "index_name": config.index_name}
    return [
        Statement(_LISTED, argument, writes=True, repeatable=True),
        Statement(_ORPHANS, argument),
        Statement(_STALE, argument),
    ]


def missing(after: str, config: EmbeddingConfig) -> list[Statement]:
    """Read the memories of a window that are neither listed nor queued; then the window's last id and size."""
    argument: dict[str, Json] = {"after": after, "index_name": config.index_name}
    return [Statement(_MISSING, argument), Statement(_LAST, argument)]


def contents(ids: Sequence[str]) -> Statement:
    """Read what has to be embedded again."""
    return Statement(_CONTENTS, {"ids": list(ids)})


def queue_upserts(vectors: Mapping[str, str], config: EmbeddingConfig) -> list[Statement]:
    """Queue vectors by id, encoded, for memories that are still there; the last statement returns what is queued."""
    queued: list[Json] = [{"id": id_, "vector": vector} for id_, vector in vectors.items()]
    argument: dict[str, Json] = {"vectors": queued, **named(config)}
    return [
        Statement(_QUEUE_UPSERTS, argument, writes=True, repeatable=True),
        Statement(_RENEW_CONFIG, argument, writes=True, repeatable=True),
        Statement(_QUEUED, argument),
    ]


def queue_deletes(orphans: Sequence[Mapping[str, Json]], config: EmbeddingConfig) -> Statement:
    """Queue the removal of vectors that have no memory."""
    argument: dict[str, Json] = {"orphans": list(orphans), "index_name": config.index_name}
    return Statement(_QUEUE_DELETES, argument, writes=True, repeatable=True)


def clear() -> Statement:
    """Forget some of the listed ids; returns a row for each."""
    return Statement(_CLEAR, writes=True, repeatable=True)


def end(holder: str) -> list[Statement]:
    """Forget that there was anything under way."""
    return [
        Statement(_END, writes=True, repeatable=True),
        leases.release(LEASE, holder),
    ]
