"""What the SQLite index keeps in memory, what bounds a search, and ties. The rest is in the contracts."""

import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import apsw
import numpy as np
import pytest
from ulid import ULID

from app.adapters.local.scope_vectors import ScopeVectors
from app.adapters.local.sqlite_connection import SqliteConnection, open_connection
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import HitsOfFile, SqliteVectorIndex
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import DatabaseUnavailable
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.ports.vector_index import AwaitedHits, Hit, Hits, IndexedVector

T = TypeVar("T")
FOUR = EmbeddingConfig("test", "four", 4)
OWN, OTHER = Scope("tenant", "agent"), Scope("tenant", "other")
VALUES = np.eye(1, 4, dtype=np.float32)[0]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[SqliteVectorIndex]:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, FOUR, cache_bytes=1 << 20)
    await index.prepare()
    yield index
    await file.close()


async def remembered(index: SqliteVectorIndex, scope: Scope, count: int) -> list[str]:
    """Write vectors and search for them, which loads them into memory."""
    vectors = [IndexedVector(scope, str(ULID()), VALUES, 1, 1) for _ in range(count)]
    await index.upsert(vectors)
    await search(index, scope)
    ids = [vector.id for vector in vectors]
    assert in_memory(ids) == set(ids)
    return ids


async def search(index: SqliteVectorIndex, scope: Scope) -> set[str]:
    return {hit.id for hit in (await index.query(scope, VALUES, top_k=9, where=Filter())).hits}


def in_memory(ids: list[str]) -> set[str]:
    """Those of the ids whose vectors are anywhere in this process."""
    return {id_ for vectors in scopes_in_memory() for id_ in vectors.ids.snapshot().at(range(len(vectors.ids)))} & set(
        ids
    )


def scopes_in_memory() -> list[ScopeVectors]:
    gc.collect()
    return [each for each in gc.get_objects() if type(each) is ScopeVectors]


@pytest.mark.parametrize("better", [0, 3])
async def test_of_more_equal_vectors_than_are_asked_for_the_newest_are_found(
    index: SqliteVectorIndex, better: int
) -> None:
    nearest = [IndexedVector(OWN, str(ULID()), VALUES, 1, 1) for _ in range(better)]
    as_near = np.full(4, 0.5, dtype=np.float32)
    equal = [IndexedVector(OWN, str(ULID()), as_near, 1, 1) for _ in range(40)]
    await index.upsert([*nearest, *equal])
    hits = (await index.query(OWN, VALUES, top_k=9, where=Filter())).hits
    newest_first = [one.id for one in [*reversed(nearest), *reversed(equal)]]
    assert [hit.id for hit in hits] == newest_first[:9]


async def test_vectors_that_are_deleted_together_leave_the_memory_before_the_next_search(
    index: SqliteVectorIndex,
) -> None:
    gone, kept = await remembered(index, OWN, 5), await remembered(index, OTHER, 2)
    await index.delete(OWN, gone[:4])
    assert in_memory(gone[:4]) == set()
    assert in_memory(kept) == set(kept)
    assert (await search(index, OWN), await search(index, OTHER)) == ({gone[4]}, set(kept))


async def test_a_vector_that_is_deleted_alone_leaves_the_memory_with_the_next_search(index: SqliteVectorIndex) -> None:
    ids = await remembered(index, OWN, 3)
    await index.delete(OWN, ids[:1])
    assert in_memory(ids[1:]) == set(ids[1:])
    assert await search(index, OWN) == set(ids[1:])
    assert in_memory(ids) == set(ids[1:])


class OnConnection(SqliteFile):
    """A file whose reads are made on a connection that a test sets."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.connection: SqliteConnection | None = None

    async def read(
        self, work: Callable[[SqliteConnection], T], tenant_id: str = "", *, seconds: float | None = None
    ) -> T:
        if self.connection is not None:
            return work(self.connection)
        return await super().read(work, tenant_id, seconds=seconds)


async def test_a_search_whose_snapshot_is_older_than_a_removal_still_finds_what_was_there(tmp_path: Path) -> None:
    file = OnConnection(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, FOUR, cache_bytes=1 << 20)
    await index.prepare()
    kept, replaced = await remembered(index, OWN, 2)
    with closing(open_connection(file.path)) as older:
        older.execute("BEGIN")
        older.execute("SELECT count(*) FROM local_vector").fetchall()
        await index.upsert([IndexedVector(OWN, replaced, -VALUES, 2, 1)])
        assert await search(index, OWN) == {kept, replaced}
        file.connection = older
        assert await search(index, OWN) == {kept, replaced}
        older.execute("ROLLBACK")
        file.connection = None
    assert await search(index, OWN) == {kept, replaced}
    await file.close()


async def test_a_filter_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, FOUR, cache_bytes=0, filter_seconds=0.0)
    await index.prepare()
    wanted = {f"key {number}": number for number in range(16)}
    await index.upsert([IndexedVector(OWN, str(ULID()), VALUES, 1, 1, wanted) for _ in range(2_000)])
    with pytest.raises(DatabaseUnavailable, match="too long"):
        await index.query(OWN, VALUES, top_k=9, where=Filter(metadata=wanted))
    assert len(await search(index, OWN)) == 9
    await file.close()


async def awaited(index: SqliteVectorIndex, file: SqliteFile, scope: Scope) -> tuple[AwaitedHits, str]:
    """Let a statement await hits; return them, and the argument that the statement was run with."""
    hits = index.ask_within(scope, VALUES, top_k=9, where=Filter())
    assert hits is not None
    given: list[Json] = [[hit.id, 1.0] for hit in hits.until_then.hits]
    statement = Statement("SELECT ?1 AS argument", {"hits": given}, awaits=hits)
    ((row,),) = await SqliteDatabase(file).run([statement])
    return hits, str(row["argument"])


async def test_hits_of_a_small_scope_are_found_in_the_run_that_reads_with_them(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, FOUR, cache_bytes=1 << 20)
    await index.prepare()
    hits, argument = await awaited(index, file, OWN)
    assert (hits.hits, argument) == (Hits([]), '{"hits":[]}')
    ids = await remembered(index, OWN, 3)
    hits, argument = await awaited(index, file, OWN)
    assert hits.hits == await index.query(OWN, VALUES, top_k=9, where=Filter())
    assert [id_ for id_, _ in json.loads(argument)["hits"]] == ids[::-1]
    assert index.ask_within(OWN, VALUES, top_k=9, where=Filter(metadata={"a": 1})) is None
    await file.close()


async def test_hits_of_an_earlier_try_do_not_stand_for_those_of_a_later_one(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "index.sqlite3")
    tries = [Hits([Hit("01M8", 1.0)]), None]
    left = iter(tries)
    hits = HitsOfFile(lambda _: next(left))
    for found in tries:
        await SqliteDatabase(file).run([Statement("SELECT ?1 AS argument", {"hits": []}, awaits=hits)])
        assert hits.hits == found
    await file.close()


async def test_a_scope_without_vectors_that_is_asked_for_takes_no_memory(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, FOUR, cache_bytes=1 << 20)
    await index.prepare()
    before = len(scopes_in_memory())
    for n in range(9):
        hits, _ = await awaited(index, file, Scope("tenant", f"agent {n}"))
        assert hits.hits == Hits([])
    assert len(scopes_in_memory()) == before
    await file.close()


async def test_a_large_scope_is_searched_apart_where_searches_share_a_pass(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, FOUR, cache_bytes=1 << 20)
    await index.prepare()
    await index.upsert([IndexedVector(OWN, str(n), VALUES, 1, 1) for n in range(2001)])
    hits, argument = await awaited(index, file, OWN)
    assert hits.hits is None
    assert hits.marker in argument
    assert index.ask_within(OWN, VALUES, top_k=9, where=Filter()) is None
    assert index.ask_within(OTHER, VALUES, top_k=9, where=Filter()) is not None
    await file.close()


@pytest.mark.parametrize("again", [0, 1, 3, 5])
async def test_a_database_that_is_restored_into_the_file_by_sqlite_is_searched_as_it_is(
    index: SqliteVectorIndex, tmp_path: Path, again: int
) -> None:
    path = str(tmp_path / "index.sqlite3")
    ids = await remembered(index, OWN, 2)
    with closing(apsw.Connection(str(tmp_path / "backup.sqlite3"))) as copy:
        with closing(apsw.Connection(path)) as source, copy.backup("main", source, "main") as backup:
            backup.step()
        since = await remembered(index, OWN, 3)
        with closing(apsw.Connection(path)) as target, target.backup("main", copy, "main") as backup:
            backup.step()
    vectors = [IndexedVector(OWN, str(ULID()), VALUES, 1, 1) for _ in range(again)]
    await index.upsert(vectors)  # under the numbers of those that were stored since the backup
    assert await search(index, OWN) == {*ids, *(vector.id for vector in vectors)}
    assert in_memory(since) == set()
