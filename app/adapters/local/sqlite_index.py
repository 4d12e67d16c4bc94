"""The ``VectorIndex`` port on a SQLite file, with an exact cosine search of a scope (ADR 0003)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import apsw
import numpy as np
import numpy.typing as npt

from app.adapters.local import removed_vectors
from app.adapters.local.coalescer import Coalescer
from app.adapters.local.scope_vectors import Numbers, ScopeCache, ScopeVectors, columns, cosines, sorted_out
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.embedding import EmbeddingConfig, Vector, same_text
from app.domain.json_types import Json, to_json
from app.domain.memory import Scope
from app.domain.moments import wall_clock
from app.domain.query import Filter
from app.ports.database import NOW
from app.ports.index_admin import CountsUnreadable, Expected, IdPage, IndexRecord
from app.ports.vector_index import Hit, Hits, IndexedVector, Insertion, NewVector, WritesWithin
from app.storage import filters

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
    # Counts the removals of vectors of a scope, so that other processes update the copies that they have.
    """
    CREATE TABLE IF NOT EXISTS local_vector_removals (
      tenant_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      index_name TEXT NOT NULL,
      removals INTEGER NOT NULL,
      PRIMARY KEY (tenant_id, agent_id, index_name)
    ) STRICT, WITHOUT ROWID
    """,
    *removed_vectors.SCHEMA,
)

_SAMPLED = 100
_FILTER_SECONDS = 2.0

_SCOPE = "tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND index_name = ?1 ->> 'index_name'"
_REMOVALS = f"SELECT removals FROM local_vector_removals WHERE {_SCOPE}"
_COUNT = f"SELECT count(*) FROM local_vector WHERE {_SCOPE}"
_NUMBERS = f"SELECT number FROM local_vector WHERE {_SCOPE}"
_VECTORS = f"SELECT number, id, vector FROM local_vector WHERE {_SCOPE} AND number > ?1 ->> 'after' ORDER BY number"
_OF_AGENT = f"SELECT id FROM local_vector WHERE {_SCOPE} LIMIT {_SAMPLED}"
_OF_TENANT = f"""
SELECT id FROM local_vector WHERE tenant_id = ?1 ->> 'tenant_id' AND index_name = ?1 ->> 'index_name' LIMIT {_SAMPLED}
"""
_BY_ID = """
SELECT id, vector FROM local_vector
WHERE tenant_id = ?1 ->> 'tenant_id' AND index_name = ?1 ->> 'index_name'
  AND id IN (SELECT value FROM json_each(?1, '$.ids'))
"""
_STATING = """
SELECT memory.id FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
"""
_REMOVE = f"DELETE FROM local_vector WHERE {_SCOPE} AND id = ?1 ->> 'id'"
_REMOVE_OLDER = f"{_REMOVE} AND revision <= ?1 ->> 'revision'"
_REMOVED = """
INSERT INTO local_vector_removals (tenant_id, agent_id, index_name, removals)
VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'index_name', 1)
ON CONFLICT DO UPDATE SET removals = removals + 1
"""
# An equal vector changes only the metadata for filters: the copies in memory stay valid.
_RENEW = f"""
UPDATE local_vector
SET revision = ?1 ->> 'revision', created_at = ?1 ->> 'created_at', metadata = ?1 ->> 'metadata'
WHERE {_SCOPE} AND id = ?1 ->> 'id' AND revision <= ?1 ->> 'revision' AND vector = ?2
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
# The statements below cross scopes.
_HELD = """
SELECT id, tenant_id, agent_id, revision FROM local_vector
WHERE index_name = ?1 ->> 'index_name' AND id IN (SELECT value FROM json_each(?1, '$.ids'))
"""
_SHOWN = """
SELECT id, tenant_id, agent_id, created_at, metadata, vector FROM local_vector
WHERE index_name = ?1 ->> 'index_name' AND id IN (SELECT value FROM json_each(?1, '$.ids'))
"""
_LISTED = """
SELECT id, max(length(vector) <> 4 * ?1 ->> 'dimensions') FROM local_vector
WHERE index_name = ?1 ->> 'index_name' AND id > ?1 ->> 'after' GROUP BY id ORDER BY id LIMIT ?1 ->> 'most'
"""
_UNREADABLE = """
SELECT count(*) FROM local_vector
WHERE index_name = ?1 ->> 'index_name' AND length(vector) <> 4 * ?1 ->> 'dimensions'
"""

_DESTROY = (
    """
    INSERT INTO local_vector_removals (tenant_id, agent_id, index_name, removals)
    SELECT DISTINCT tenant_id, agent_id, index_name, 1 FROM local_vector WHERE index_name = ?1 ->> 'index_name'
    ON CONFLICT DO UPDATE SET removals = removals + 1
    """,
    "DELETE FROM local_vector WHERE index_name = ?1 ->> 'index_name'",
)

_LIST_IDS = 1000
_ARGUMENT_BYTES = 1_500_000
"""Bytes of an argument, of the 2 MB that a value may have."""
_NAMES_BYTES = 300
_FLOAT_BYTES = 4
_STREAMED = 4096
_FLOATS = npt.NDArray[np.float32]
_Block: TypeAlias = tuple[Numbers, list[str], _FLOATS, int]


@dataclass(frozen=True, slots=True)
class _ScopeSearch:
    vector: Vector
    top_k: int
    where: Filter


class SqliteVectorIndex(CountsUnreadable, WritesWithin):
    """Searches vectors of the file exactly, in memory. Implements ``app.ports.vector_index.VectorIndex``.

    The first search of a scope loads its vectors, which are kept within a budget; every search first reads the
    changes of the file, so that it sees the writes of other processes. A scope that exceeds the budget is read from
    the file each time. A write is visible to the next search.
    """

    backend = "sqlite-exact"
    visible_at_once = True
    confirm_seconds = 0.0
    removal_grace_ms = 0
    filterable = None

    def __init__(
        self, file: SqliteFile, config: EmbeddingConfig, *, cache_bytes: int, filter_seconds: float = _FILTER_SECONDS
    ) -> None:
        """Use a file that the caller opens and closes; keep at most ``cache_bytes`` of vectors in memory.

        A search with a filter may take ``filter_seconds`` of a processor, because slow reads of others wait for it.
        """
        self._file = file
        self._filter_seconds = filter_seconds
        self._config = config
        self._cache = ScopeCache(config.dimensions, cache_bytes)
        self._searches: Coalescer[Scope, _ScopeSearch, Hits] = Coalescer(self._answer)

    async def prepare(self) -> None:
        """Create the tables of the index where they are absent."""
        await self._file.write(lambda connection: [connection.execute(sql) for sql in _SCHEMA])

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        """Score every vector of the scope that passes the filter and return the best ``top_k``.

        Raises:
            DatabaseUnavailable: the file does not answer, or the filter takes too long.
        """
        search = _ScopeSearch(vector, top_k, where)
        # A filter may take long: only its own caller waits for it.
        return (await self._answer(scope, [search]))[0] if where else await self._searches.ask(scope, search)

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        """Write the vectors in one transaction."""

        def work(connection: apsw.Connection) -> None:
            for vector in vectors:
                argument = _argument(self._config, vector.scope, id=vector.id, **_filtered(vector))
                _put(connection, argument, vector.values.astype("<f4", copy=False).tobytes())

        if vectors:
            await self._file.write(work, vectors[0].scope.tenant_id)
        return await self.watermark()

    def insertions(self, vectors: Sequence[NewVector]) -> Sequence[Insertion]:
        """Return a statement for each chunk of vectors that fits into one argument."""
        size = max(1, _ARGUMENT_BYTES // (2 * _FLOAT_BYTES * self._config.dimensions + _NAMES_BYTES))
        return [
            Insertion(_INSERT_WRITTEN, self._config.index_name, [*map(_written, vectors[start : start + size])])
            for start in range(0, len(vectors), size)
        ]

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove the vectors in one transaction; where there are several, as in an erasure, no copy stays in memory.

        An upsert that was queued before and arrives within a minute is left out.
        """

        def work(connection: apsw.Connection) -> None:
            removed_vectors.remember(connection, _argument(self._config, scope, ids=list(ids)))
            for id_ in ids:
                _take(connection, _argument(self._config, scope, id=id_))

        await self._file.write(work, scope.tenant_id)
        if len(ids) > 1:  # a single vector stays in memory until the scope's next search: loading all again costs more
            self._cache.forget(scope)
        return await self.watermark()

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        """Read the scopes of the vectors; all have the config of this index."""
        argument = to_json({"index_name": self._config.index_name, "ids": list(ids)})
        rows = await self._file.read(lambda connection: _rows(connection, _HELD, argument))
        return {
            id_: IndexRecord(Scope(tenant, agent), revision, self._config.label)
            for id_, tenant, agent, revision in rows
        }

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Read the vectors from the file; a damaged vector is left out."""
        argument = to_json({"tenant_id": tenant_id, "index_name": self._config.index_name, "ids": list(ids)})
        rows = await self._file.read(lambda connection: _rows(connection, _BY_ID, argument), tenant_id)
        size = 4 * self._config.dimensions
        return {
            id_: np.frombuffer(values, "<f4").astype(np.float32, copy=False)
            for id_, values in rows
            if len(values) == size
        }

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        """Compare the rows of the vectors; all have the config of this index."""
        argument = to_json({"index_name": self._config.index_name, "ids": [one.id for one in expected]})
        rows = await self._file.read(lambda connection: _rows(connection, _SHOWN, argument))
        shown = {row[0]: row[1:] for row in rows}
        return {one.id: _is_as(one, *shown[one.id]) for one in expected if one.id in shown}

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        """Return the ids that follow the cursor, which is an id itself and never expires."""
        page: dict[str, Json] = {"after": cursor or "", "most": _LIST_IDS, "dimensions": self._config.dimensions}
        argument = to_json({"index_name": self._config.index_name, **page})
        rows = await self._file.read(lambda connection: _rows(connection, _LISTED, argument))
        ids = [id_ for id_, _ in rows]
        unreadable = [id_ for id_, is_unreadable in rows if is_unreadable]
        return IdPage(ids, ids[-1] if len(ids) == _LIST_IDS else None, unreadable)

    async def count_unreadable(self) -> int:
        """Look at the length of each vector of this config."""
        argument = to_json({"index_name": self._config.index_name, "dimensions": self._config.dimensions})
        ((unreadable,),) = await self._file.read(lambda connection: _rows(connection, _UNREADABLE, argument))
        return int(unreadable)

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        """Read ids from the file, because a search scores every vector in it."""
        sql = _OF_TENANT if agent_id is None else _OF_AGENT
        argument = _argument(self._config, Scope(tenant_id, agent_id or ""))
        rows = await self._file.read(lambda connection: _rows(connection, sql, argument))
        return [id_ for (id_,) in rows]

    async def destroy(self) -> None:
        """Remove the vectors of this config; a process that has some in memory notices at its next search."""
        argument = to_json({"index_name": self._config.index_name})

        def work(connection: apsw.Connection) -> None:
            for sql in _DESTROY:
                connection.execute(sql, (argument,))

        await self._file.write(work)

    async def watermark(self) -> int:
        """Return the current time, because every acknowledged write is visible."""
        return wall_clock()

    async def ping(self) -> None:
        """Read from the index's tables."""
        await self._file.read(lambda connection: connection.execute("SELECT 1 FROM local_vector LIMIT 1").fetchone())

    async def _answer(self, scope: Scope, searches: Sequence[_ScopeSearch]) -> list[Hits]:
        seconds = self._filter_seconds if any(search.where for search in searches) else None
        return await self._file.read(
            lambda connection: self._search(connection, scope, searches), scope.tenant_id, seconds=seconds
        )

    def _search(self, connection: apsw.Connection, scope: Scope, searches: Sequence[_ScopeSearch]) -> list[Hits]:
        """Answer concurrent searches of one scope together, with one pass over its vectors."""
        # Taken before the first read, so that a removal meanwhile also evicts the vectors that this search loads.
        vectors = self._cache.get(scope)
        allowed = [self._passing(connection, scope, s.where) if s.where else None for s in searches]
        queries = np.stack([search.vector for search in searches])
        best: list[list[tuple[float, int, str]]] = [[] for _ in searches]
        unreadable = 0
        for numbers, ids, values, left_out in self._blocks(connection, scope, vectors):
            unreadable += left_out
            for found, search, passing, scores in zip(best, searches, allowed, cosines(queries, values), strict=True):
                positions = None if passing is None else np.flatnonzero(np.isin(numbers, passing))
                found.extend(_best(numbers, ids, scores, positions, search.top_k))
        return [_hits(found, search.top_k, unreadable) for found, search in zip(best, searches, strict=True)]

    def _blocks(self, connection: apsw.Connection, scope: Scope, vectors: ScopeVectors) -> Iterator[_Block]:
        """Yield the scope's current vectors as columns: in one block from memory, or in several from the file.

        The last item of each block is how many vectors were left out of the block, because they are damaged.
        """
        argument = _argument(self._config, scope, after=0)
        if not vectors.count and not self._cache.fits(connection.execute(_COUNT, (argument,)).get):
            self._cache.forget(scope)
            yield from self._streamed(connection.execute(_VECTORS, (argument,)))
            return
        with vectors.lock:
            is_current = self._refresh(connection, scope, vectors)
            snapshot = vectors.snapshot()
        if not is_current:
            yield from self._streamed(connection.execute(_VECTORS, (argument,)))
            return
        self._cache.resized(scope, vectors.size)
        yield snapshot.numbers, snapshot.ids, snapshot.values, snapshot.unreadable

    def _refresh(self, connection: apsw.Connection, scope: Scope, vectors: ScopeVectors) -> bool:
        """Update the vectors from the file.

        Return False where a reader that began later has already removed vectors of this connection's snapshot.
        """
        argument = _argument(self._config, scope, after=vectors.last)
        removals = connection.execute(_REMOVALS, (argument,)).get or 0
        if removals < vectors.removals:
            return False
        if removals > vectors.removals:
            kept = _rows(connection, _NUMBERS, argument)
            vectors.keep(np.array([number for (number,) in kept], np.int64))
            vectors.removals = removals
        added = _rows(connection, _VECTORS, argument)
        if added:
            vectors.append(added)
        return True

    def _streamed(self, cursor: apsw.Cursor) -> Iterator[_Block]:
        while read := list(islice(cursor, _STREAMED)):
            rows, unreadable = sorted_out(read, self._config.dimensions)
            values = columns([row[2] for row in rows], self._config.dimensions)
            yield np.array([row[0] for row in rows], np.int64), [row[1] for row in rows], values, len(unreadable)

    def _passing(self, connection: apsw.Connection, scope: Scope, where: Filter) -> Numbers:
        """Return the numbers of the scope's vectors that pass the filter."""
        sql = f"{_NUMBERS} AND {filters.condition(where, 'local_vector')}"
        if where.looks_into_the_database:  # the database is in the same file
            sql += f" AND id IN ({_STATING} AND {filters.states(where, 'memory')})"
        rows = _rows(connection, sql, _argument(self._config, scope, where=filters.argument(where)))
        return np.fromiter((number for (number,) in rows), np.int64)


def _best(
    numbers: Numbers, ids: list[str], scores: _FLOATS, positions: npt.NDArray[np.intp] | None, top_k: int
) -> list[tuple[float, int, str]]:
    """Return score, number and id of the highest scores, of all vectors or of those at the positions."""
    if positions is not None:
        scores = scores[positions]
    best = _highest(scores, top_k)
    rows = best if positions is None else positions[best]
    named = [ids[row] for row in rows.tolist()]
    return list(zip(np.clip(scores[best], -1, 1).tolist(), numbers[rows].tolist(), named, strict=True))


def _highest(scores: _FLOATS, count: int) -> npt.NDArray[np.intp]:
    """Return the positions of the ``count`` highest scores; of equal scores the last, which are the newest."""
    if len(scores) <= count:
        return np.arange(len(scores))
    least = np.partition(scores, -count)[-count]
    above, equal = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    return np.concatenate([above, equal[len(above) - count :]])


def _hits(found: list[tuple[float, int, str]], top_k: int, unreadable: int) -> Hits:
    """Sort the vectors found by score; of equal scores the newest is first."""
    hits = [Hit(id_, score) for score, _, id_ in sorted(found, reverse=True)[:top_k]]
    return Hits(hits, more=len(hits) == top_k, unreadable=unreadable)


def _argument(config: EmbeddingConfig, scope: Scope, **more: Json) -> str:
    return to_json({"tenant_id": scope.tenant_id, "agent_id": scope.agent_id, "index_name": config.index_name, **more})


def _is_as(expected: Expected, tenant_id: str, agent_id: str, created_at: int, metadata: str, values: bytes) -> bool:
    shown = (Scope(tenant_id, agent_id), created_at, json.loads(metadata))
    if shown != (expected.scope, expected.created_at, dict(expected.metadata)):
        return False
    if expected.values is None:
        return True
    return len(values) == 4 * len(expected.values) and same_text(np.frombuffer(values, "<f4"), expected.values)


def _written(vector: NewVector) -> Json:
    values = vector.values.astype("<f4", copy=False).tobytes().hex()
    return {"agent_id": vector.agent_id, "id": vector.id, "content_hash": vector.content_hash, "vector": values}


def _filtered(vector: IndexedVector) -> dict[str, Json]:
    metadata = to_json(vector.metadata)
    return {"revision": vector.revision, "created_at": vector.created_at, "metadata": metadata}


def _put(connection: apsw.Connection, argument: str, values: bytes) -> None:
    if removed_vectors.is_late(connection, argument):
        return
    if _changed(connection, _INSERT, argument, values) or _changed(connection, _RENEW, argument, values):
        return
    if _take(connection, argument, _REMOVE_OLDER):
        connection.execute(_INSERT, (argument, values))


def _take(connection: apsw.Connection, argument: str, remove: str = _REMOVE) -> bool:
    """Remove a vector. Return whether it existed."""
    if not _changed(connection, remove, argument):
        return False
    connection.execute(_REMOVED, (argument,))
    return True


def _rows(connection: apsw.Connection, sql: str, argument: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql, (argument,)).fetchall()


def _changed(connection: apsw.Connection, sql: str, *parameters: str | bytes) -> bool:
    """Run a statement. Return whether it changed a row."""
    connection.execute(sql, parameters)
    return connection.changes() > 0
