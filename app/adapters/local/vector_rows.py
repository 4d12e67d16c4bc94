"""The table of vectors in the SQLite file, and the statements that write it."""

import json
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from app.adapters.local import removed_vectors, vector_changes
from app.domain.embedding import EmbeddingConfig, same_text
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope
from app.ports.database import NOW
from app.ports.index_admin import Expected
from app.ports.vector_index import IndexedVector, Insertion, NewVector

_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS local_vector (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      index_name TEXT NOT NULL,
      tenant_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      id TEXT NOT NULL,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      metadata TEXT NOT NULL,
      vector BLOB NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX IF NOT EXISTS local_vector_id ON local_vector (tenant_id, agent_id, index_name, id)",
    "CREATE INDEX IF NOT EXISTS local_vector_number ON local_vector (tenant_id, agent_id, index_name, number)",
    # For the operations that cross scopes: the ids in order, and their scopes.
    "CREATE INDEX IF NOT EXISTS local_vector_any_scope ON local_vector (index_name, id)",
)
SCOPE = "tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND index_name = ?1 ->> 'index_name'"

_REMOVE = f"DELETE FROM local_vector WHERE {SCOPE} AND id = ?1 ->> 'id'"
_REMOVE_OLDER = f"{_REMOVE} AND revision <= ?1 ->> 'revision'"
# An equal vector changes only the metadata for filters: the copies in memory of the vector stay valid.
_RENEW = f"""
UPDATE local_vector
SET revision = ?1 ->> 'revision', created_at = ?1 ->> 'created_at', metadata = ?1 ->> 'metadata'
WHERE {SCOPE} AND id = ?1 ->> 'id' AND revision <= ?1 ->> 'revision' AND vector = ?2
"""
_INSERT = """
INSERT INTO local_vector (tenant_id, agent_id, index_name, id, revision, created_at, metadata, vector)
VALUES (
  ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'index_name', ?1 ->> 'id', ?1 ->> 'revision', ?1 ->> 'created_at',
  ?1 ->> 'metadata', ?2
)
ON CONFLICT DO NOTHING
"""
# It goes into the run that writes the memories, and adds the vectors of those that were written, and no others.
_INSERT_WRITTEN = f"""
INSERT INTO local_vector (tenant_id, agent_id, index_name, id, revision, created_at, metadata, vector)
SELECT memory.tenant_id, memory.agent_id, ?1 ->> 'index_name', memory.id, {NOW}, memory.created_at, memory.metadata,
  unhex(line.value ->> 'vector')
FROM json_each(?1, '$.vectors') AS line CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = line.value ->> 'agent_id'
  AND memory.content_hash = line.value ->> 'content_hash' AND memory.id = line.value ->> 'id'
ON CONFLICT DO NOTHING
"""

_ARGUMENT_BYTES = 1_500_000
"""Bytes of an argument, of the 2 MB that a value may have."""
_NAMES_BYTES = 300
_FLOAT_BYTES = 4


def prepare(connection: apsw.Connection) -> None:
    """Create the tables where they are absent."""
    for sql in _SCHEMA:
        connection.execute(sql)
    vector_changes.prepare(connection)
    removed_vectors.prepare(connection)


def scoped_argument(config: EmbeddingConfig, scope: Scope, **more: Json) -> str:
    """Return the argument of a statement on a scope."""
    return to_json({"tenant_id": scope.tenant_id, "agent_id": scope.agent_id, "index_name": config.index_name, **more})


def all_rows(connection: apsw.Connection, sql: str, argument: str) -> list[tuple[Any, ...]]:
    """Return all rows of a statement."""
    return connection.execute(sql, (argument,)).fetchall()


def put(connection: apsw.Connection, config: EmbeddingConfig, vector: IndexedVector) -> None:
    """Write a vector, unless it is older than that in the table, or than its removal."""
    metadata = to_json(vector.metadata)
    written: dict[str, Json] = {"revision": vector.revision, "created_at": vector.created_at, "metadata": metadata}
    line = scoped_argument(config, vector.scope, id=vector.id, **written)
    values = vector.values.astype("<f4", copy=False).tobytes()
    if removed_vectors.is_late(connection, config.index_name, vector.scope, vector.id, vector.revision):
        return
    if _changed(connection, _INSERT, line, values) or _changed(connection, _RENEW, line, values):
        return
    if _changed(connection, _REMOVE_OLDER, line):
        connection.execute(_INSERT, (line, values))


def take(connection: apsw.Connection, config: EmbeddingConfig, scope: Scope, ids: Sequence[str]) -> None:
    """Remove the vectors of a scope with these ids; an upsert that was queued before is left out for a minute."""
    removed_vectors.remember(connection, config.index_name, scope, ids)
    for id_ in ids:
        connection.execute(_REMOVE, (scoped_argument(config, scope, id=id_),))


def insertions(config: EmbeddingConfig, vectors: Sequence[NewVector]) -> Sequence[Insertion]:
    """Return a statement for each chunk of vectors that fits into one argument."""
    size = max(1, _ARGUMENT_BYTES // (2 * _FLOAT_BYTES * config.dimensions + _NAMES_BYTES))
    return [
        Insertion(_INSERT_WRITTEN, config.index_name, [*map(_written, vectors[start : start + size])])
        for start in range(0, len(vectors), size)
    ]


def is_as(expected: Expected, tenant_id: str, agent_id: str, created_at: int, metadata: str, values: bytes) -> bool:
    """Tell whether a row is what is expected."""
    shown = (Scope(tenant_id, agent_id), created_at, json.loads(metadata))
    if shown != (expected.scope, expected.created_at, dict(expected.metadata)):
        return False
    if expected.values is None:
        return True
    return len(values) == 4 * len(expected.values) and same_text(np.frombuffer(values, "<f4"), expected.values)


def is_damaged(values: bytes, dimensions: int) -> bool:
    """Tell whether the bytes of a row's vector have another length than all, or are not all finite numbers."""
    return len(values) != _FLOAT_BYTES * dimensions or not np.isfinite(np.frombuffer(values, "<f4")).all()


def _written(vector: NewVector) -> Json:
    values = vector.values.astype("<f4", copy=False).tobytes().hex()
    return {"agent_id": vector.agent_id, "id": vector.id, "content_hash": vector.content_hash, "vector": values}


def _changed(connection: apsw.Connection, sql: str, *parameters: str | bytes) -> bool:
    """Run a statement. Return whether it changed a row."""
    connection.execute(sql, parameters)
    return connection.changes() > 0
