"""The outbox of an import: many vectors queued in one statement, and those of an export that wait there."""

from collections.abc import Sequence

from app.domain.embedding import EmbeddingConfigs
from app.domain.json_types import Json
from app.domain.quotas import Defaults
from app.ports.database import NOW, Statement
from app.storage.batches import LINE_LET_IN, ROOM_NAMES, Line
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN

# Comes before the memories' own statement in a run, as in a store: a queued vector without a memory is found by nobody.
_QUEUE = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at)
SELECT ?1 ->> 'tenant_id', line.value ->> 'agent_id', line.value ->> 'id', ?1 ->> 'active', 'upsert', {NOW},
  line.value ->> 'vector', {NOW} + {GRACE_MS}
FROM json_each(?1, '$.lines') AS line
WHERE {LINE_LET_IN}
  AND NOT EXISTS (
    SELECT 1 FROM long_term_memory AS present
    WHERE present.tenant_id = ?1 ->> 'tenant_id' AND present.agent_id = line.value ->> 'agent_id'
      AND present.content_hash = line.value ->> 'content_hash'
  )
  AND NOT EXISTS (SELECT 1 FROM long_term_memory AS holder WHERE holder.id = line.value ->> 'id')
{QUEUED_AGAIN}
RETURNING id, revision
"""
_WAITING = """
SELECT outbox.id, outbox.vector FROM json_each(?1, '$.memories') AS wanted CROSS JOIN outbox
WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = wanted.value ->> 'agent_id'
  AND outbox.id = wanted.value ->> 'id' AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
"""
_NAMES = ("agent_id", "id", "content_hash", "vector", "deleted", *ROOM_NAMES)


def queue(tenant_id: str, lines: Sequence[Line], used: EmbeddingConfigs, quotas: Defaults) -> Statement:
    """Queue the vectors of memories that are about to be added; returns ``id`` and ``revision`` of each."""
    argument: dict[str, Json] = {
        "tenant_id": tenant_id,
        **used.argument,
        "limits": quotas.limits,
        "lines": [{name: line[name] for name in _NAMES} for line in lines],
    }
    return Statement(_QUEUE, argument, writes=True, repeatable=True)


def waiting(tenant_id: str, memories: Sequence[tuple[str, str]], index_name: str) -> Statement:
    """Read the queued vectors of memories, each named by its agent and its id."""
    wanted: list[Json] = [{"agent_id": agent_id, "id": id_} for agent_id, id_ in memories]
    return Statement(_WAITING, {"tenant_id": tenant_id, "index_name": index_name, "memories": wanted})
