"""The outbox: vectors the database holds until the index is known to show them (docs/architecture.md).

A store queues its vector in the same run as the memory, so whatever happens to the index call, the
vector is not lost: recall scores what is queued for its scope, and the indexer delivers it.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.model import EmbeddingConfig, Filter, Scope, Vector
from app.ports.database import Row, Statement
from app.tiers import filters

NOW = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
"""The database's clock in SQL, in milliseconds since the epoch."""

PENDING_MOST = 512
"""How many queued vectors of one scope a recall scores, the newest first."""

# The id is that of the memory which already has this content, where there is one.
_QUEUE_UPSERT = f"""
INSERT INTO outbox (tenant_id, agent_id, id, operation, revision, vector)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', coalesce(present.id, ?1 ->> 'id'), 'upsert', {NOW}, ?1 ->> 'vector'
FROM embedding_in_use AS in_use
LEFT JOIN long_term_memory AS present
  ON present.tenant_id = ?1 ->> 'tenant_id' AND present.agent_id = ?1 ->> 'agent_id'
  AND present.content_hash = ?1 ->> 'content_hash'
WHERE in_use.index_name = ?1 ->> 'index_name'
ON CONFLICT (tenant_id, agent_id, id) DO UPDATE SET
  operation = excluded.operation, vector = excluded.vector, revision = max(excluded.revision, outbox.revision + 1)
RETURNING id, revision
"""

_QUEUE_DELETE = f"""
INSERT INTO outbox (tenant_id, agent_id, id, operation, revision)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'delete', {NOW} FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = ?1 ->> 'id'
ON CONFLICT (tenant_id, agent_id, id) DO UPDATE SET
  operation = excluded.operation, vector = NULL, revision = max(excluded.revision, outbox.revision + 1)
"""

_PENDING = """
SELECT memory.id, memory.content, memory.metadata, memory.created_at, outbox.vector
FROM outbox JOIN long_term_memory AS memory
  ON memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id AND memory.id = outbox.id
WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = ?1 ->> 'agent_id' AND outbox.operation = 'upsert'
  AND {condition}
ORDER BY outbox.revision DESC LIMIT ?1 ->> 'most'
"""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Statements over one scope's queued vectors. The tenant is bound here, once."""

    scope: Scope

    def queue_upsert(self, memory_id: str, vector: Vector, *, content_hash: str, config: EmbeddingConfig) -> Statement:
        """Queue a vector; returns the ``id`` it is queued for and its ``revision``.

        Comes before the memory's own statement in a run: should the run stop between the two, a queued
        vector without a memory is found by nobody.
        """
        return Statement(
            _QUEUE_UPSERT,
            {
                "tenant_id": self.scope.tenant_id,
                "agent_id": self.scope.agent_id,
                "id": memory_id,
                "content_hash": content_hash,
                "index_name": config.index_name,
                "vector": encode(vector),
            },
            writes=True,
            repeatable=True,
        )

    def queue_delete(self, memory_id: str) -> Statement:
        """Queue the removal of a memory's vector, where the scope has such a memory."""
        return Statement(
            _QUEUE_DELETE,
            {"tenant_id": self.scope.tenant_id, "agent_id": self.scope.agent_id, "id": memory_id},
            writes=True,
            repeatable=True,
        )

    def pending(self, where: Filter) -> Statement:
        """Read the queued memories that pass the filter with their vectors, newest first, one over the bound."""
        return Statement(
            _PENDING.format(condition=filters.condition(where, "memory")),
            {
                "tenant_id": self.scope.tenant_id,
                "agent_id": self.scope.agent_id,
                "where": filters.argument(where),
                "most": PENDING_MOST + 1,
            },
        )


def score(rows: Sequence[Row], query: Vector) -> dict[str, float]:
    """Return the cosine similarity of each pending row to the query, by id."""
    if not rows:
        return {}
    values = np.stack([decode(str(row["vector"])) for row in rows])
    return dict(zip((str(row["id"]) for row in rows), np.clip(values @ query, -1, 1).tolist(), strict=True))


def encode(vector: Vector) -> str:
    """Write a vector as text: little-endian float32 in base 64."""
    return base64.b64encode(vector.astype("<f4", copy=False).tobytes()).decode()


def decode(text: str) -> Vector:
    """Read what ``encode`` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


@dataclass(frozen=True, slots=True)
class Delivery:
    """The index acknowledged this revision of a memory's vector at this moment (ms since the epoch)."""

    scope: Scope
    id: str
    revision: int
    acknowledged_at: int


class Deliveries:
    """What this process has delivered and the outbox still holds. Requests add, the indexer takes."""

    def __init__(self) -> None:
        """Start with none."""
        self._waiting: dict[tuple[Scope, str], Delivery] = {}

    def add(self, delivery: Delivery) -> None:
        """Remember a delivery until its outbox row is removed; of one revision the first delivery counts."""
        waiting = self._waiting.get((delivery.scope, delivery.id))
        if waiting is None or waiting.revision != delivery.revision:
            self._waiting[delivery.scope, delivery.id] = delivery

    def take(self, watermark: int) -> list[Delivery]:
        """Return and forget the deliveries acknowledged up to the watermark."""
        taken = [delivery for delivery in self._waiting.values() if delivery.acknowledged_at <= watermark]
        for delivery in taken:
            del self._waiting[delivery.scope, delivery.id]
        return taken

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)
