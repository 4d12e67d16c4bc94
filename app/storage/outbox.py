"""The outbox: changes of vectors that the index has still to take, or may not show yet (docs/reliability.md).

A store queues its vector in the same run as the memory, so whatever happens to the index call, the vector
is not lost: a recall scores the vectors that are queued for its scope, and the indexer delivers them. A row lives until
its revision is known to be visible in the index, and a minute longer.
"""

from collections.abc import Sequence

import numpy as np

from app.domain.embedding import Vector, decoded, lengths
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.domain.query import Filter
from app.ports.database import Row
from app.storage import filters
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import shown

MAX_PENDING = 512
"""How many vectors of one scope a recall scores of those that stores have queued, the newest first (ADR 0008)."""
MAX_IN_BULK = 64
"""How many queued vectors of one scope a recall scores of those that an import or a job has queued (ADR 0038)."""
NEWEST_IN_BULK = 1
"""How many of these, the newest, a recall scores where there are more: ten thousands may be queued, of kilobytes."""

GRACE_MS = 60_000
"""For this long only the row's request delivers it: more than twice the longest deadline of a call (12 s).

After it no call of that request can still reach the index, so that a change sent then is sent last. A removal need not
wait where the index leaves out vectors that were queued before it (``VectorIndex.removal_grace_ms``)."""

# Every change of a row's operation or vector resets these columns, beside due_at.
RESET = "acknowledged_at = NULL, confirmed_at = NULL, refusals = 0, dead = NULL"

QUEUED_AGAIN = f"""ON CONFLICT (tenant_id, agent_id, id, index_name) DO UPDATE SET
  operation = excluded.operation, vector = excluded.vector, revision = max(excluded.revision, outbox.revision + 1),
  due_at = excluded.due_at, in_bulk = min(excluded.in_bulk, outbox.in_bulk), {RESET}"""
"""The clause that changes a row where an operation is queued anew; a removal brings no vector."""

_WAITING = """
SELECT outbox.id, outbox.vector FROM json_each(?1, '$.memories') AS wanted CROSS JOIN outbox
WHERE outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = wanted.value ->> 'agent_id'
  AND outbox.id = wanted.value ->> 'id' AND outbox.index_name = ?1 ->> 'index_name' AND outbox.operation = 'upsert'
"""
_OF_INDEX = """
outbox.tenant_id = ?1 ->> 'tenant_id' AND outbox.agent_id = ?1 ->> 'agent_id' AND outbox.operation = 'upsert'
  AND outbox.index_name = ?1 ->> 'index_name'
"""
_MEMORY = """
CROSS JOIN long_term_memory AS memory
  ON memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id AND memory.id = outbox.id
"""
_IN_BULK = f"""
(SELECT json_group_array(id) FROM (
  SELECT outbox.id FROM outbox INDEXED BY outbox_newest WHERE {_OF_INDEX} AND outbox.in_bulk = 1
  ORDER BY outbox.revision DESC LIMIT {{most}}
))
"""
_SHOWN = shown("memory")
# Vectors queued in bulk are read before the condition is checked on them; in_bulk is 2 where there are more of them.
_PENDING = f"""
SELECT * FROM (
  SELECT outbox.id, outbox.vector, 0 AS in_bulk FROM outbox INDEXED BY outbox_newest {_MEMORY}
  WHERE {_OF_INDEX} AND outbox.in_bulk = 0 AND {{condition}}
  ORDER BY outbox.revision DESC LIMIT ?1 ->> 'most'
) UNION ALL
SELECT outbox.id, iif({{condition}}, outbox.vector, NULL),
  1 + (json_array_length(queued.all_of_them) > ?1 ->> 'most_in_bulk')
FROM (
  SELECT {_IN_BULK.format(most="?1 ->> 'most_in_bulk' + 1")} AS all_of_them,
    {_IN_BULK.format(most="?1 ->> 'newest_in_bulk'")} AS newest
) AS queued CROSS JOIN json_each(
  iif(json_array_length(queued.all_of_them) > ?1 ->> 'most_in_bulk', queued.newest, queued.all_of_them)
) AS each CROSS JOIN outbox {_MEMORY}
WHERE outbox.id = each.value AND {_OF_INDEX}
"""


def pending(scope: Scope, where: Filter, index_name: str, *, for_model: bool = False) -> ScopedStatement:
    """Read the ids of the memories queued for an index that pass the filter, with their vectors, newest first.

    Forgotten memories are left out, and for a model also those that a program keeps for itself. One row more than is
    scored at most is read, to tell that there are more; ``scored`` tells which rows are scored.
    """
    condition = f"{filters.of_living(where, 'memory')} AND memory.forgotten_at IS NULL"
    if for_model:
        condition += f" AND {_SHOWN}"
    return ScopedStatement.read(
        scope,
        _PENDING.format(condition=condition),
        index_name=index_name,
        where=filters.argument(where),
        most=MAX_PENDING + 1,
        most_in_bulk=MAX_IN_BULK,
        newest_in_bulk=NEWEST_IN_BULK,
    )


def waiting(tenant: Tenant, memories: Sequence[tuple[str, str]], index_name: str) -> ScopedStatement:
    """Read the queued vectors of memories, each named by its agent and its id."""
    wanted: list[Json] = [{"agent_id": agent_id, "id": id_} for agent_id, id_ in memories]
    return ScopedStatement.read(tenant, _WAITING, index_name=index_name, memories=wanted)


def scored(rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """Return those rows that ``pending`` has read which are scored, and whether there are more."""
    stored = [row for row in rows if not row["in_bulk"]]
    in_bulk = [row for row in rows if row["in_bulk"]]
    more = len(stored) > MAX_PENDING or any(int(str(row["in_bulk"])) > 1 for row in in_bulk)
    return [*stored[:MAX_PENDING], *(row for row in in_bulk if row["vector"] is not None)], more


def score(rows: Sequence[Row], query: Vector) -> dict[str, float]:
    """Return the cosine similarity of each pending row to the query, by id; a damaged vector is left out."""
    dimensions = len(query)
    sizes = lengths(dimensions)
    rows = [row for row in rows if len(str(row["vector"])) in sizes]
    if not rows:
        return {}
    values = np.empty((len(rows), dimensions), np.float32)
    for number, row in enumerate(rows):
        values[number] = decoded(str(row["vector"]), dimensions)
    norms = np.sqrt(np.einsum("ij,ij->i", values, values))  # rounding has moved them a little
    scores = np.clip(values @ query / norms, -1, 1).tolist()
    return dict(zip((str(row["id"]) for row in rows), scores, strict=True))
