"""Equal questions that are under way are one question; vectors that come at the same time are one call."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from app.adapters.coalescing.gatherer import Metering
from app.adapters.coalescing.index import CoalescingIndex
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import VectorRefused
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.index_admin import IndexAdmin
from app.ports.vector_index import AsksWithin, AwaitedHits, Hits, IndexedVector

CONFIG = EmbeddingConfig("test", "four", 4)
SCOPE, OTHER = Scope("t", "bot"), Scope("u", "bot")


class Slow(SqliteVectorIndex):
    """An index which lets others come while it answers, and counts."""

    queries = 0
    refuse = ""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file, CONFIG, cache_bytes=1 << 20)
        self.file = file
        self.upserts: list[int] = []

    async def query(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> Hits:
        self.queries += 1
        await asyncio.sleep(0.01)
        return await super().query(scope, vector, top_k=top_k, where=where)

    async def upsert(self, vectors: Sequence[IndexedVector]) -> int:
        self.upserts.append(len(vectors))
        await asyncio.sleep(0.01)
        if any(vector.id == self.refuse for vector in vectors):
            raise VectorRefused("not as it is")
        return await super().upsert(vectors)


@pytest.fixture
async def below(tmp_path: Path) -> AsyncIterator[Slow]:
    file = SqliteFile(tmp_path / "index.sqlite3")
    index = Slow(file)
    await index.prepare()
    yield index
    await file.close()


def axis(place: int) -> Vector:
    values: Vector = np.zeros(4, np.float32)
    values[place] = 1
    return values


def vector(number: int, scope: Scope = SCOPE, revision: int = 1, place: int = 0) -> IndexedVector:
    return IndexedVector(scope, f"{number:026d}", axis(place), 1, revision)


async def test_equal_questions_at_the_same_time_are_asked_once(below: Slow) -> None:
    index = CoalescingIndex(below)
    await index.upsert([vector(1), vector(2, OTHER)])
    asked = [index.query(SCOPE, axis(0), top_k=3, where=Filter()) for _ in range(6)]
    answers = await asyncio.gather(*asked)
    assert {tuple(hit.id for hit in answer.hits) for answer in answers} == {(f"{1:026d}",)}
    assert below.queries == 1
    await index.query(SCOPE, axis(0), top_k=3, where=Filter())
    assert below.queries == 2


async def test_questions_that_differ_in_anything_are_asked_each(below: Slow) -> None:
    index = CoalescingIndex(below)
    await asyncio.gather(
        index.query(SCOPE, axis(0), top_k=3, where=Filter()),
        index.query(OTHER, axis(0), top_k=3, where=Filter()),
        index.query(Scope("t", "other"), axis(0), top_k=3, where=Filter()),
        index.query(SCOPE, axis(1), top_k=3, where=Filter()),
        index.query(SCOPE, axis(0), top_k=4, where=Filter()),
        index.query(SCOPE, axis(0), top_k=3, where=Filter(metadata={"a": 1})),
        index.query(SCOPE, axis(0), top_k=3, where=Filter(metadata={"a": "1"})),
    )
    assert below.queries == 7


async def test_who_goes_away_leaves_the_answer_to_the_others(below: Slow) -> None:
    index = CoalescingIndex(below)
    await index.upsert([vector(1)])
    asked = [asyncio.create_task(index.query(SCOPE, axis(0), top_k=3, where=Filter())) for _ in range(3)]
    await asyncio.sleep(0)
    asked[0].cancel()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(answer, Hits) for answer in answers] == [False, True, True]


async def test_vectors_that_come_at_the_same_time_are_one_call_and_the_newer_of_two_counts(below: Slow) -> None:
    index = CoalescingIndex(below)
    given = [[vector(0)], [vector(1, revision=2, place=1)], [vector(1, revision=1)], [vector(2, OTHER)]]
    moments = await asyncio.gather(*(index.upsert(vectors) for vectors in given))
    assert below.upserts == [3]
    assert len(set(moments)) == 1
    found = await index.query(SCOPE, axis(1), top_k=1, where=Filter())
    assert (found.hits[0].id, round(found.hits[0].score, 3)) == (f"{1:026d}", 1.0)


async def test_a_vector_that_is_refused_leaves_the_others_written(below: Slow) -> None:
    index = CoalescingIndex(below)
    below.refuse = f"{2:026d}"
    answers = await asyncio.gather(*(index.upsert([vector(n)]) for n in range(5)), return_exceptions=True)
    assert [isinstance(answer, VectorRefused) for answer in answers] == [n == 2 for n in range(5)]
    assert len((await index.query(SCOPE, axis(0), top_k=10, where=Filter())).hits) == 4


async def test_each_call_below_is_charged_once_to_the_tenants_in_it(below: Slow) -> None:
    charged: list[set[str]] = []
    index = CoalescingIndex(below, Metering(lambda tenant_ids: charged.append(set(tenant_ids))))
    await asyncio.gather(*(index.upsert([vector(n, scope)]) for n, scope in enumerate((SCOPE, SCOPE, OTHER))))
    await asyncio.gather(*(index.query(SCOPE, axis(0), top_k=3, where=Filter()) for _ in range(3)))
    await index.delete(OTHER, [vector(2).id])
    assert charged == [{"t", "u"}, {"t"}, {"u"}]


class AskedWithin(Slow, AsksWithin):
    """An index that a run of a database beside it can ask."""

    def ask_within(self, scope: Scope, vector: Vector, *, top_k: int, where: Filter) -> AwaitedHits | None:
        return AwaitedHits(f"{scope.tenant_id}: the first {top_k} of {len(vector)} dimensions, {where}")


async def test_what_a_run_asks_within_its_call_is_that_of_the_index_below(below: Slow) -> None:
    within = AskedWithin(below.file)
    awaited = CoalescingIndex(within).ask_within(SCOPE, axis(0), top_k=3, where=Filter())
    assert awaited is not None
    assert awaited.marker == f"t: the first 3 of 4 dimensions, {Filter()}"


async def test_nothing_is_asked_within_a_call_where_the_index_below_cannot() -> None:
    alone = CoalescingIndex(cast(IndexAdmin, object()))
    assert alone.ask_within(SCOPE, axis(0), top_k=3, where=Filter()) is None
