"""Searches the vectors of a scope in the file, which is read each time: where they do not fit into memory."""

from collections.abc import Iterator, Sequence
from itertools import islice

import apsw
import numpy as np

from app.adapters.local.nearest import ScopeSearch, nearest
from app.adapters.local.scope_vectors import Numbers, Row, columns, cosines, sorted_out
from app.adapters.local.vector_rows import SCOPE, all_rows, scoped_argument
from app.domain.embedding import EmbeddingConfig
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import Hit, Hits
from app.storage import filters

NUMBERS = f"SELECT number FROM local_vector WHERE {SCOPE}"
VECTORS = f"SELECT number, id, vector FROM local_vector WHERE {SCOPE} AND number > ?1 ->> 'after' ORDER BY number"

_READ = 4096


def search_streamed(
    connection: apsw.Connection, config: EmbeddingConfig, scope: Scope, searches: Sequence[ScopeSearch]
) -> list[Hits]:
    """Answer searches of one scope with one pass over its vectors in the file."""
    allowed = [passing_in_sql(connection, config, scope, search.where) if search.where else None for search in searches]
    queries = np.stack([search.vector for search in searches])
    best: list[list[tuple[float, int, str]]] = [[] for _ in searches]
    unreadable = 0
    for part, left_out in _parts(connection, config, scope):
        unreadable += left_out
        numbers = np.array([row[0] for row in part], np.int64)
        scores_of = cosines(queries, [columns([row[2] for row in part], config.dimensions)])
        for found, search, passing, scores in zip(best, searches, allowed, scores_of, strict=True):
            positions = None if passing is None else np.flatnonzero(np.isin(numbers, passing))
            for position in nearest(scores, positions, search.top_k).tolist():
                found.append((float(np.clip(scores[position], -1, 1)), part[position][0], part[position][1]))
    return [_hits(found, search.top_k, unreadable) for found, search in zip(best, searches, strict=True)]


def passing_in_sql(connection: apsw.Connection, config: EmbeddingConfig, scope: Scope, where: Filter) -> Numbers:
    """Return the numbers of the scope's vectors that pass a filter, compared in SQL."""
    sql = f"{NUMBERS} AND {filters.condition(where, 'local_vector')}"
    if where.looks_into_the_database:  # the database is in the same file
        sql += f" AND id IN ({filters.stating(where)})"
    passing = all_rows(connection, sql, scoped_argument(config, scope, where=filters.argument(where)))
    return np.fromiter((number for (number,) in passing), np.int64)


def _parts(connection: apsw.Connection, config: EmbeddingConfig, scope: Scope) -> Iterator[tuple[list[Row], int]]:
    """Yield the scope's rows of number, id and vector, and how many were left out because they are damaged."""
    read = connection.execute(VECTORS, (scoped_argument(config, scope, after=0),))
    while part := list(islice(read, _READ)):
        whole, unreadable = sorted_out(part, config.dimensions)
        yield whole, len(unreadable)


def _hits(found: list[tuple[float, int, str]], top_k: int, unreadable: int) -> Hits:
    """Sort the vectors found by score; of equal scores the newest is first."""
    hits = [Hit(id_, score) for score, _, id_ in sorted(found, reverse=True)[:top_k]]
    return Hits(hits, more=len(hits) == top_k, unreadable=unreadable)
