"""The outbox: what the index has still to be told, or may not show yet (docs/reliability.md).

A store queues its vector in the same run as the memory, so whatever happens to the index call, the vector
is not lost: recall scores what is queued for its scope, and the indexer delivers it. A row lives until its
revision is known to be visible in the index, and a minute longer.
"""

import binascii
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.embedding import Vector
from app.domain.memory import NewMemory, Scope
from app.domain.query import Filter
from app.ports.database import NOW, Row, Statement
from app.storage import filters
from app.storage.admission import LET_IN, Admission

MAX_PENDING = 512
"""How many queued vectors of one scope a recall scores, the newest first (ADR 0008)."""

GRACE_MS = 60_000
"""For so long a row is its request's affair: more than twice the longest deadline of a call (12 s).

After it no call of that request can still reach the index, so that what is sent then is sent last."""

# What every change of a row's operation or vector begins anew.
ANEW = f"acknowledged_at = NULL, confirmed_at = NULL, refusals = 0, dead = NULL, due_at = {NOW} + {GRACE_MS}"

QUEUED_AGAIN = f"""ON CONFLICT (tenant_id, agent_id, id, index_name) DO UPDATE SET
  operation = excluded.operation, vector = excluded.vector, revision = max(excluded.revision, outbox.revision + 1),
  {ANEW}"""
"""What becomes of a row where something is queued anew; a removal brings no vector."""

# Queued for each index where the memory is new, where its vector has not been delivered, and where the index filters
# on metadata that has changed. The id is that of the memory which already has this content, where there is one.
_QUEUE_UPSERT = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', coalesce(present.id, ?1 ->> 'id'), made.key, 'upsert', {NOW}, made.value,
  {NOW} + {GRACE_MS}
FROM json_each(?1, '$.vectors') AS made
LEFT JOIN long_term_memory AS present
  ON present.tenant_id = ?1 ->> 'tenant_id' AND present.agent_id = ?1 ->> 'agent_id'
  AND present.content_hash = ?1 ->> 'content_hash'
LEFT JOIN outbox AS queued
  ON queued.tenant_id = present.tenant_id AND queued.agent_id = present.agent_id AND queued.id = present.id
  AND queued.index_name = made.key
WHERE {LET_IN}
  AND (present.id IS NULL OR (queued.id IS NOT NULL AND queued.acknowledged_at IS NULL) OR {{changed}})
{QUEUED_AGAIN}
RETURNING id, index_name, revision
"""
_QUEUE_IF_ANY_CHANGED = _QUEUE_UPSERT.format(changed="present.metadata <> ?1 ->> 'metadata'")
_QUEUE_IF_KEY_CHANGED = _QUEUE_UPSERT.format(
    changed="""EXISTS (
    SELECT 1 FROM json_each(?1, '$.filterable') AS key
    WHERE present.metadata -> ('$."' || key.value || '"') IS NOT ?1 ->> 'metadata' -> ('$."' || key.value || '"')
  )"""
)

_QUEUE_DELETE = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = ?1 ->> 'id'
{QUEUED_AGAIN}
RETURNING index_name
"""

_PENDING = """
SELECT outbox.id, outbox.vector
FROM outbox JOIN long_term_memory AS memory
  ON memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id AND memory.id = outbox.id
WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = ?1 ->> 'agent_id' AND outbox.operation = 'upsert'
  AND outbox.index_name = ?1 ->> 'index_name' AND {condition}
ORDER BY outbox.revision DESC LIMIT ?1 ->> 'most'
"""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Statements over one scope's queued vectors. The tenant is bound here, once."""

    scope: Scope

    def queue_upsert(
        self,
        memory: NewMemory,
        vectors: Mapping[str, Vector],
        admission: Admission,
        *,
        filterable: Collection[str] | None,
    ) -> Statement:
        """Queue vectors, by index name, where their index needs them.

        Returns a row for each that is queued: the ``id`` it is queued for, its ``index_name`` and ``revision``.

        Comes before the memory's own statement in a run: should the run stop between the two, a queued
        vector without a memory is found by nobody.
        """
        return Statement(
            _QUEUE_IF_ANY_CHANGED if filterable is None else _QUEUE_IF_KEY_CHANGED,
            admission.argument
            | {
                "metadata": memory.metadata_json,
                "filterable": sorted(filterable or ()),
                "vectors": {index_name: encode(vector) for index_name, vector in vectors.items()},
            },
            writes=True,
            repeatable=True,
        )

    def queue_delete(self, memory_id: str) -> Statement:
        """Queue the removal of a memory's vectors, where the scope has such a memory; returns their ``index_name``."""
        return Statement(
            _QUEUE_DELETE,
            {"tenant_id": self.scope.tenant_id, "agent_id": self.scope.agent_id, "id": memory_id},
            writes=True,
            repeatable=True,
        )

    def pending(self, where: Filter, index_name: str) -> Statement:
        """Read the ids of the memories queued for an index that pass the filter, with their vectors, newest first.

        One more than is scored at most is read, to tell that there are more.
        """
        return Statement(
            _PENDING.format(condition=filters.of_living(where, "memory")),
            {
                "tenant_id": self.scope.tenant_id,
                "agent_id": self.scope.agent_id,
                "index_name": index_name,
                "where": filters.argument(where),
                "most": MAX_PENDING + 1,
            },
        )


def score(rows: Sequence[Row], query: Vector) -> dict[str, float]:
    """Return the cosine similarity of each pending row to the query, by id."""
    if not rows:
        return {}
    values = np.empty((len(rows), len(query)), np.float32)
    for number, row in enumerate(rows):
        values[number] = _kept(str(row["vector"]), len(query))
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))  # rounding has moved them a little
    scores = np.clip(values @ query / lengths, -1, 1).tolist()
    return dict(zip((str(row["id"]) for row in rows), scores, strict=True))


def encode(vector: Vector) -> str:
    """Write a vector as text: little-endian float16 in base 64 (ADR 0008)."""
    return binascii.b2a_base64(vector.astype("<f2").tobytes(), newline=False).decode()


def decode(text: str, dimensions: int) -> Vector:
    """Read what ``encode`` wrote."""
    return _kept(text, dimensions).astype(np.float32)


def _kept(text: str, dimensions: int) -> npt.NDArray[np.floating]:
    """Read the numbers as they are kept: before they were halved they had four bytes, which their length tells."""
    data = binascii.a2b_base64(text)
    return np.frombuffer(data, f"<f{len(data) // dimensions}")
