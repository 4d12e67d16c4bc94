"""What the SQLite index keeps in memory once vectors are deleted. The rest is in the contracts."""

import gc
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from ulid import ULID

from app.adapters.local.scope_vectors import ScopeVectors
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import EmbeddingConfig
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import IndexedVector

OWN, OTHER = Scope("tenant", "agent"), Scope("tenant", "other")
VALUES = np.eye(1, 4, dtype=np.float32)[0]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[SqliteVectorIndex]:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = SqliteVectorIndex(file, EmbeddingConfig("test", "four", 4), cache_bytes=1 << 20)
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
    gc.collect()
    loaded = (each for each in gc.get_objects() if type(each) is ScopeVectors)
    return {id_ for vectors in loaded for id_ in vectors.ids} & set(ids)


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
