"""The ``VectorIndex`` port on a SQLite file, with an exact cosine search of a scope (ADR 0003)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from app.adapters.local.coalescer import Coalescer
from app.adapters.local.exact_search import ExactSearch
from app.adapters.local.nearest import ScopeSearch
from app.adapters.local.shared_blocks import SharedBlocks
from app.adapters.local.sqlite_connection import SqliteConnection
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.vector_rows import (
    SCOPE,
    all_rows,
    insertions,
    is_as,
    is_damaged,
    prepare,
    put,
    scoped_argument,
    take,
)
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.json_types import to_json
from app.domain.memory import Scope
from app.domain.moments import wall_clock
from app.domain.query import Filter
from app.ports.index_admin import CountsUnreadable, Expected, IdPage, IndexRecord
from app.ports.vector_index import (
    AsksWithin,
    AwaitedHits,
    Hit,
    Hits,
    IndexedVector,
    Insertion,
    NewVector,
    WritesWithin,
)

_SAMPLED = 100
_MOST_LARGE = 10_000
_FEW = 2000
"""A scope of more vectors is searched apart, where concurrent searches share one pass over the vectors."""
_LIST_IDS = 1000
_FILTER_SECONDS = 2.0

_OF_AGENT = f"SELECT id FROM local_vector WHERE {SCOPE} LIMIT {_SAMPLED}"
_OF_TENANT = f"""
SELECT id FROM local_vector WHERE tenant_id = ?1 ->> 'tenant_id' AND index_name = ?1 ->> 'index_name' LIMIT {_SAMPLED}
"""
_BY_ID = """
SELECT id, vector FROM local_vector
WHERE tenant_id = ?1 ->> 'tenant_id' AND index_name = ?1 ->> 'index_name'
  AND id IN (SELECT value FROM json_each(?1, '$.ids'))
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
SELECT id, vector FROM local_vector
WHERE index_name = ?1 ->> 'index_name' AND id IN (
  SELECT DISTINCT id FROM local_vector
  WHERE index_name = ?1 ->> 'index_name' AND id > ?1 ->> 'after' ORDER BY id LIMIT ?1 ->> 'most'
)
ORDER BY id
"""
_VECTORS = "SELECT vector FROM local_vector WHERE index_name = ?1 ->> 'index_name'"
_DESTROY = "DELETE FROM local_vector WHERE index_name = ?1 ->> 'index_name'"


_AWAITED = Hit("awaited", 1.0)
"""Stands for awaited hits. No memory has its id, and no caller's value stands in an argument where hits do."""
_UNTIL_THEN = Hits([_AWAITED])


class HitsOfFile(AwaitedHits):
    """Hits that a run on the same file finds: ``search`` takes its connection, and returns None where it may not."""

    __slots__ = ("search",)
    until_then = _UNTIL_THEN

    def __init__(self, search: Callable[[SqliteConnection], Hits | None]) -> None:
        """Take the search."""
        super().__init__(_AWAITED.id)
        self.search = search


class SqliteVectorIndex(AsksWithin, CountsUnreadable, WritesWithin):
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
        self,
        file: SqliteFile,
        config: EmbeddingConfig,
        *,
        cache_bytes: int,
        filter_seconds: float = _FILTER_SECONDS,
        shared: SharedBlocks | None = None,
    ) -> None:
        """Use a file that the caller opens and closes; keep at most ``cache_bytes`` of vectors in memory.

        ``shared``: the memory that vectors are shared in with the other processes on the file; None: they are not.
        A search with a filter may take ``filter_seconds`` of a processor, because slow reads of others wait for it.
        """
        self._file = file
        self._filter_seconds = filter_seconds
        self._config = config
        self._search = ExactSearch(config, cache_bytes, shared, file.read_latest)
        self._large: set[Scope] = set()
        """Scopes that were found to have many vectors."""
        self._searches: Coalescer[Scope, ScopeSearch, Hits] = Coalescer(self._answer)

    async def prepare(self) -> None:
        """Create the tables of the index where they are absent."""
        await self._file.write(prepare)

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        """Score every vector of the scope that passes the filter and return the best ``top_k``.

        Raises:
            DatabaseUnavailable: the file does not answer, or the filter takes too long.
        """
        search = ScopeSearch(vector, top_k, where)
        # A filter may take long: only its own caller waits for it.
        return (await self._answer(scope, [search]))[0] if where else await self._searches.ask(scope, search)

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        """Return the search of a small scope, which ``SqliteDatabase`` makes in its run: it saves a way to a thread."""
        if where or scope in self._large:
            return None
        search = ScopeSearch(vector, top_k, where)
        return HitsOfFile(lambda connection: self._within(connection, scope, search))

    def _within(self, connection: SqliteConnection, scope: Scope, search: ScopeSearch) -> Hits | None:
        """Search a scope in a run; None where it is large, which later searches of it then know beforehand."""
        count = self._search.count(connection, scope)
        if count > _FEW:
            if len(self._large) >= _MOST_LARGE:
                self._large.clear()
            self._large.add(scope)
            return None
        return self._search.search(connection, scope, [search])[0] if count else Hits([])

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        """Write the vectors in one transaction."""

        def work(connection: SqliteConnection) -> None:
            for vector in vectors:
                put(connection, self._config, vector)

        if vectors:
            await self._file.write(work, vectors[0].scope.tenant_id)
        return await self.watermark()

    def insertions(self, vectors: Sequence[NewVector]) -> Sequence[Insertion]:
        """Return a statement for each chunk of vectors that fits into one argument."""
        return insertions(self._config, vectors)

    async def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Remove the vectors in one transaction; where there are several, as in an erasure, no copy stays in memory.

        An upsert that was queued before and arrives within a minute is left out.
        """
        await self._file.write(lambda connection: take(connection, self._config, scope, ids), scope.tenant_id)
        if len(ids) > 1:  # a single vector stays in memory until the scope's next search: loading all again costs more
            self._search.forget(scope)
        self._search.remove_shared(scope)
        return await self.watermark()

    async def held(self, ids: Sequence[str]) -> Mapping[str, IndexRecord]:
        """Read the scopes of the vectors; all have the config of this index."""
        argument = to_json({"index_name": self._config.index_name, "ids": list(ids)})
        rows = await self._file.read(lambda connection: all_rows(connection, _HELD, argument))
        return {
            id_: IndexRecord(Scope(tenant, agent), revision, self._config.label)
            for id_, tenant, agent, revision in rows
        }

    async def vectors(self, tenant_id: str, ids: Sequence[str]) -> Mapping[str, Vector]:
        """Read the vectors from the file; a damaged vector is left out."""
        argument = to_json({"tenant_id": tenant_id, "index_name": self._config.index_name, "ids": list(ids)})
        rows = await self._file.read(lambda connection: all_rows(connection, _BY_ID, argument), tenant_id)
        size = 4 * self._config.dimensions
        return {
            id_: np.frombuffer(values, "<f4").astype(np.float32, copy=False)
            for id_, values in rows
            if len(values) == size
        }

    async def agrees(self, expected: Sequence[Expected]) -> Mapping[str, bool]:
        """Compare the rows of the vectors; all have the config of this index."""
        argument = to_json({"index_name": self._config.index_name, "ids": [one.id for one in expected]})
        rows = await self._file.read(lambda connection: all_rows(connection, _SHOWN, argument))
        shown = {row[0]: row[1:] for row in rows}
        return {one.id: is_as(one, *shown[one.id]) for one in expected if one.id in shown}

    async def list_ids(self, cursor: str | None = None) -> IdPage:
        """Return the ids that follow the cursor, which is an id itself and never expires."""
        argument = to_json({"index_name": self._config.index_name, "after": cursor or "", "most": _LIST_IDS})
        rows = await self._file.read(lambda connection: all_rows(connection, _LISTED, argument))
        ids = list(dict.fromkeys(id_ for id_, _ in rows))  # two scopes may have one id
        unreadable = list(dict.fromkeys(id_ for id_, values in rows if is_damaged(values, self._config.dimensions)))
        return IdPage(ids, ids[-1] if len(ids) == _LIST_IDS else None, unreadable)

    async def count_unreadable(self) -> int:
        """Look at each vector of this config."""
        argument = (to_json({"index_name": self._config.index_name}),)

        def count(connection: SqliteConnection) -> int:
            read = connection.execute(_VECTORS, argument)
            return sum(is_damaged(values, self._config.dimensions) for (values,) in read)

        return await self._file.read(count)

    async def sample(self, tenant_id: str, agent_id: str | None = None) -> Sequence[str]:
        """Read ids from the file, because a search scores every vector in it."""
        sql = _OF_TENANT if agent_id is None else _OF_AGENT
        argument = scoped_argument(self._config, Scope(tenant_id, agent_id or ""))
        rows = await self._file.read(lambda connection: all_rows(connection, sql, argument))
        return [id_ for (id_,) in rows]

    async def destroy(self) -> None:
        """Remove the vectors of this config; a process that has some in memory notices at its next search."""
        argument = to_json({"index_name": self._config.index_name})
        await self._file.write(lambda connection: connection.execute(_DESTROY, (argument,)))
        self._search.sweep()

    async def watermark(self) -> int:
        """Return the current time, because every acknowledged write is visible."""
        return wall_clock()

    async def ping(self) -> None:
        """Read from the index's tables."""
        await self._file.read(lambda connection: connection.execute("SELECT 1 FROM local_vector LIMIT 1").fetchone())

    async def _answer(self, scope: Scope, searches: Sequence[ScopeSearch]) -> list[Hits]:
        seconds = self._filter_seconds if any(search.where for search in searches) else None
        return await self._file.read(
            lambda connection: self._search.search(connection, scope, searches), scope.tenant_id, seconds=seconds
        )
