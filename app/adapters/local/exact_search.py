"""Searches the vectors of a scope exactly: in memory, or from the file where they do not fit."""

from collections.abc import Callable, Sequence
from itertools import islice

import apsw
import numpy as np

from app.adapters.local import vector_changes
from app.adapters.local.filter_columns import FilterColumns
from app.adapters.local.nearest import ScopeSearch, nearest
from app.adapters.local.scope_cache import ScopeCache
from app.adapters.local.scope_vectors import Matrix, Positions, ScopeVectors, Snapshot, bytes_of, cosines
from app.adapters.local.shared_blocks import SharedBlocks
from app.adapters.local.sqlite_connection import SqliteConnection
from app.adapters.local.sqlite_jobs import Work
from app.adapters.local.streamed_search import NUMBERS, VECTORS, passing_in_sql, search_streamed
from app.adapters.local.vector_rows import SCOPE, all_rows, scoped_argument
from app.domain.embedding import EmbeddingConfig
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import Hit, Hits
from app.storage import filters

_VERSION = "PRAGMA data_version"
"""Changes for a connection when another one, of this process or of another, has committed."""
_SCHEMA_VERSION = "PRAGMA schema_version"
"""Changes with each migration, and where SQLite's backup has written another database into the file."""
_COUNT = f"SELECT count(*) FROM local_vector WHERE {SCOPE}"
_FACTS = (
    f"SELECT number, created_at, metadata FROM local_vector WHERE {SCOPE} AND number > ?1 ->> 'after' ORDER BY number"
)
# json_each gives the ids in their order, the nearest first, and no more are looked up than are asked for.
_STATING_OF = """
SELECT asked.key FROM json_each(?1, '$.ids') AS asked CROSS JOIN long_term_memory AS memory ON memory.id = asked.value
WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND +memory.agent_id = ?1 ->> 'agent_id'
"""

_READ = 1024
"""The vectors that are read at once into memory."""
_READ_FACTS = 64
"""The vectors of which what a filter compares is read at once: their metadata may be large, and is read in Python."""
_FACTS_BYTES = 1 << 20
"""What a filter compares may take this many bytes, or half of what the vectors take; more is compared in SQL."""
_LOOKED_UP = 4
"""How many of the best are looked up in the database for each vector asked for; where too few pass, all are."""


class ExactSearch:
    """Searches the vectors that an index keeps of its scopes, and first brings them up to date with the file."""

    def __init__(
        self, config: EmbeddingConfig, cache_bytes: int, shared: SharedBlocks | None, latest: Callable[[Work[int]], int]
    ) -> None:
        """Keep at most ``cache_bytes`` of vectors in memory.

        ``shared`` is memory that other processes share; ``latest`` does work at once on the latest data.
        """
        self._shared = shared
        self._latest = latest
        self._config = config
        self._cache = ScopeCache(config.dimensions, cache_bytes)

    def forget(self, scope: Scope) -> None:
        """Keep nothing of a scope in memory."""
        self._cache.forget(scope)

    def count(self, connection: apsw.Connection, scope: Scope) -> int:
        """Return about how many vectors a scope has: those that are in memory, or else those of the file."""
        if in_memory := self._cache.count(scope):
            return in_memory
        in_file: int = connection.execute(_COUNT, (scoped_argument(self._config, scope),)).get
        return in_file

    def remove_shared(self, scope: Scope) -> None:
        """Leave nothing of a scope in a file, from which vectors were removed, nor what a killed process has left."""
        if self._shared is not None:
            self._shared.remove(self._owner(scope))
            self._shared.sweep()

    def sweep(self) -> None:
        """Remove what a killed process has left in shared memory."""
        if self._shared is not None:
            self._shared.sweep()

    def search(self, connection: SqliteConnection, scope: Scope, searches: Sequence[ScopeSearch]) -> list[Hits]:
        """Answer concurrent searches of one scope together, with one pass over its vectors."""
        # Taken before the first read, so that a removal meanwhile also evicts the vectors that this search loads.
        vectors = self._cache.get(scope)
        snapshot = self._current(connection, scope, vectors, compared=any(_is_compared(s.where) for s in searches))
        if snapshot is None:
            return search_streamed(connection, self._config, scope, searches)
        scores = cosines(np.array([search.vector for search in searches]), snapshot.blocks)
        hits: list[Hits] = []
        for search, of_search in zip(searches, scores, strict=True):
            positions = self._positions(connection, scope, snapshot, search, of_search) if search.where else None
            best = nearest(of_search, positions, search.top_k)
            nearness = np.clip(of_search[best], -1, 1)
            order = np.lexsort((snapshot.numbers[best], nearness))[::-1]  # of equal scores the newest is first
            found = [*map(Hit, snapshot.ids.at(best[order].tolist()), nearness[order].tolist())]
            hits.append(Hits(found, more=len(found) == search.top_k, unreadable=snapshot.unreadable))
        return hits

    def _current(
        self, connection: SqliteConnection, scope: Scope, vectors: ScopeVectors, *, compared: bool
    ) -> Snapshot | None:
        """Return the scope's vectors as the connection sees them; None where they have to be read from the file.

        ``compared``: with what a filter compares, where it fits.
        """
        with vectors.lock:
            # The version of the data does not tell of what the connection itself has written.
            seen = (connection.execute(_VERSION).get, connection.total_changes(), vectors.changes)
            if vectors.checked.get(connection) != seen:
                vectors.begin(connection.execute(_SCHEMA_VERSION).get)
                scoped = scoped_argument(self._config, scope)
                if not vectors.count and not self._cache.fits(connection.execute(_COUNT, (scoped,)).get):
                    self._cache.forget(scope)
                    return None
                if not self._refresh(connection, scope, vectors):
                    return None
                vectors.checked[connection] = (*seen[:2], vectors.changes)
                self._cache.resized(scope, vectors.size)
            if compared:
                self._load_facts(connection, scope, vectors)
            return vectors.snapshot()

    def _refresh(self, connection: SqliteConnection, scope: Scope, vectors: ScopeVectors) -> bool:
        """Update the vectors from the file.

        Return False where a reader that began later has already removed vectors of this connection's snapshot.
        """
        current = vector_changes.count(connection, scoped_argument(self._config, scope))
        if current < vectors.changes:
            return False
        has_shared = False
        try:
            if current > vectors.changes:
                if vectors.last:
                    self._follow(connection, scope, vectors, current)
                vectors.changes = current
                has_shared |= self._share(scope, vectors)
            read = connection.execute(VECTORS, (scoped_argument(self._config, scope, after=vectors.last),))
            while added := list(islice(read, _READ)):
                connection.stop_if_late()  # what was read stays
                vectors.append(added)
                has_shared |= self._share(scope, vectors)
        finally:
            if has_shared:
                self._check_shared(scope, vectors)
        return True

    def _share(self, scope: Scope, vectors: ScopeVectors) -> bool:
        return self._shared is not None and vectors.share(self._shared, self._owner(scope))

    def _check_shared(self, scope: Scope, vectors: ScopeVectors) -> None:
        """Leave no shared block of the scope where something was removed after this search's snapshot.

        Whoever removes a vector takes the shared blocks away then, which may have been before this one was written.
        """
        is_latest = False
        try:
            latest = self._latest(lambda newest: vector_changes.count(newest, self._owner(scope)))
            is_latest = latest == vectors.changes
        finally:
            if not is_latest:
                self.remove_shared(scope)

    def _owner(self, scope: Scope) -> str:
        return scoped_argument(self._config, scope)

    def _follow(self, connection: apsw.Connection, scope: Scope, vectors: ScopeVectors, current: int) -> None:
        """Remove and renew what was removed and renewed in the file."""
        since = scoped_argument(self._config, scope, changes=vectors.changes)
        changes = vector_changes.since(connection, since, current - vectors.changes, vectors.first)
        if changes is None:
            kept = all_rows(connection, NUMBERS, since)
            vectors.keep(np.array([number for (number,) in kept], np.int64))
            vectors.filters = None
            return
        vectors.remove({change.number for change in changes if change.is_removed})
        renewed = {change.number: (change.created_at, change.metadata) for change in changes if not change.is_removed}
        vectors.renew(renewed)

    def _load_facts(self, connection: SqliteConnection, scope: Scope, vectors: ScopeVectors) -> None:
        """Read what a filter compares of the vectors of which it is not yet read, unless it is too much."""
        if vectors.filters_too_large:
            return
        compared = vectors.filters = vectors.filters or FilterColumns()
        if compared.count == vectors.count:
            return
        after = int(vectors.numbers.values[compared.count - 1]) if compared.count else 0
        read = connection.execute(_FACTS, (scoped_argument(self._config, scope, after=after),))
        unreadable = set(vectors.unreadable)
        while part := list(islice(read, _READ_FACTS)):
            connection.stop_if_late()  # what was read stays
            compared.append(
                [(created_at, metadata) for number, created_at, metadata in part if number not in unreadable]
            )
            if compared.size > max(_FACTS_BYTES, bytes_of(vectors.count, self._config.dimensions) // 2):
                vectors.filters, vectors.filters_too_large = None, True
                break
        self._cache.resized(scope, vectors.size)

    def _positions(
        self, connection: apsw.Connection, scope: Scope, snapshot: Snapshot, search: ScopeSearch, scores: Matrix
    ) -> Positions:
        """Return the positions of the vectors that pass a search's filter, of which the best suffice."""
        where = search.where
        positions = None
        if _is_compared(where):  # only for such a filter what it compares was read of all vectors
            if snapshot.filters is None:
                return np.flatnonzero(np.isin(snapshot.numbers, passing_in_sql(connection, self._config, scope, where)))
            positions = snapshot.filters.passing(where)
        if not where.looks_into_the_database:
            return np.arange(len(snapshot.numbers)) if positions is None else positions
        best = nearest(scores, positions, max(256, _LOOKED_UP * search.top_k))
        best = best[np.lexsort((-best, -scores[best]))]  # the nearest first, and of equals the newest
        passing = best[self._stating(connection, scope, search, snapshot.ids.at(best.tolist()))]
        if len(passing) >= search.top_k or len(best) == (len(scores) if positions is None else len(positions)):
            return passing
        return np.flatnonzero(np.isin(snapshot.numbers, passing_in_sql(connection, self._config, scope, where)))

    def _stating(self, connection: apsw.Connection, scope: Scope, search: ScopeSearch, ids: list[str]) -> list[int]:
        """Return the places of the first ids whose memories pass the types and claims of a search's filter."""
        where = search.where
        asked = scoped_argument(self._config, scope, where=filters.argument(where), ids=ids, most=search.top_k)
        sql = f"{_STATING_OF} AND {filters.states(where, 'memory')} LIMIT ?1 ->> 'most'"
        return [place for (place,) in all_rows(connection, sql, asked)]


def _is_compared(where: Filter) -> bool:
    """Tell whether a filter has conditions on times or metadata."""
    return bool(where.metadata) or where.created_after is not None or where.created_before is not None
