"""A filter that is compared in memory gives what SQL gives, whatever was written, renewed and removed before."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ulid import ULID

from app.adapters.local import exact_search
from app.adapters.local.filter_columns import FilterColumns
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.bootstrap import DATABASE_FILE
from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import to_json
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import Statement
from app.ports.vector_index import Hit, IndexedVector
from tests.contracts.conftest import sqlite_database
from tests.contracts.memories import Memories
from tests.support import migrated
from tests.support.generation import examples
from tests.support.service import serving

FOUR = EmbeddingConfig("test", "four", 4)
OWN, OTHER = Scope("tenant", "agent"), Scope("tenant", "other")
IDS = [str(ULID()) for _ in range(8)]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)
numbers = st.sampled_from(
    [0, -0.0, 1, 1.0, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, 2**63, 2.0**63, -(2**63), 10**400, 1e300]
)
scalars = st.sampled_from([None, True, False, "", "1", "true", "null", "a", "å", "a\u030a", "A"]) | numbers | texts
nested = st.sampled_from([[], [1], {}, {"a": 1}, ["a"]])
keys = st.sampled_from(["a", "a.b", "a b", "", '"', "$", "$.a", "[0]", "å", "#-1", "A"]) | texts
metadata = st.dictionaries(keys, scalars | nested, max_size=4)
wheres = st.builds(
    Filter,
    created_after=st.none() | st.integers(0, 4),
    created_before=st.none() | st.integers(0, 4),
    metadata=st.dictionaries(keys, scalars, max_size=2),
)
vectors = st.builds(
    lambda number, place, created_at, facts: (number, np.eye(4, dtype=np.float32)[place], created_at, facts),
    st.integers(0, 3),
    st.sampled_from([0, 0, 0, 1]),
    st.integers(0, 4),
    metadata,
)
steps = st.lists(
    st.lists(vectors, min_size=1, max_size=6) | st.sets(st.integers(0, 3), min_size=1, max_size=3), max_size=6
)


Indexes = tuple[SqliteVectorIndex, SqliteVectorIndex, SqliteVectorIndex]


@asynccontextmanager
async def indexes(path: Path) -> AsyncIterator[Indexes]:
    """Two indexes on a file that keep vectors in memory, and one that compares in SQL."""
    files = [SqliteFile(path), SqliteFile(path)]
    opened = [SqliteVectorIndex(files[n % 2], FOUR, cache_bytes=size) for n, size in enumerate((1 << 20, 1 << 20, 0))]
    await opened[0].prepare()
    yield opened[0], opened[1], opened[2]
    for file in files:
        await file.close()


async def found(index: SqliteVectorIndex, where: Filter, scope: Scope = OWN) -> list[Hit]:
    vector = np.array([1, 0.5, 0, 0], np.float32)
    return list((await index.query(scope, vector, top_k=9, where=where)).hits)


async def write(index: SqliteVectorIndex, scope: Scope, step: Any, revision: int) -> None:
    if isinstance(step, set):
        await index.delete(scope, [IDS[number] for number in step])
    else:
        later = 10**15 + revision  # an upsert that is older than a removal is left out
        await index.upsert([IndexedVector(scope, IDS[n], values, at, later, facts) for n, values, at, facts in step])


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Indexes]:
    async with indexes(tmp_path / "index.sqlite3") as three:
        yield three


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(120))
@given(steps=steps, wheres=st.lists(wheres, min_size=1, max_size=4), take=st.integers(0, 99))
async def test_a_filter_gives_in_memory_what_it_gives_in_sql(
    opened: Indexes, steps: list[Any], wheres: list[Filter], take: int
) -> None:
    first, second, in_sql = opened
    scope = Scope("tenant", str(ULID()))
    for revision, step in enumerate(steps):
        await write((first, second)[revision % 2], scope, step, revision)
        held = [facts for *_, facts in step] if isinstance(step, list) else []
        own = {key: value for key, value in (held[take % len(held)] if held else {}).items() if is_scalar(value)}
        for where in [*wheres, Filter(metadata=own), Filter(metadata=dict([*own.items()][:1]))]:
            expected = await found(in_sql, where, scope)
            assert await found(first, where, scope) == await found(second, where, scope) == expected


def is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


@given(st.lists(st.tuples(st.integers(0, 9), metadata.filter(bool)), min_size=1, max_size=9), st.data())
def test_rows_that_were_renewed_or_removed_are_as_if_they_had_always_been_so(
    facts: list[tuple[int, Any]], data: st.DataObject
) -> None:
    changed = st.dictionaries(st.integers(0, len(facts) - 1), st.tuples(st.integers(0, 9), metadata), max_size=3)
    renewed: dict[int, tuple[int, Any]] = data.draw(changed)
    kept = data.draw(st.lists(st.booleans(), min_size=len(facts), max_size=len(facts)))
    now = [renewed.get(row, fact) for row, fact in enumerate(facts)]
    left = [fact for fact, keep in zip(now, kept, strict=True) if keep]
    columns = columns_of(facts)
    before = columns.snapshot()
    columns.renew([*renewed], [(at, to_json(held)) for at, held in renewed.values()])
    columns.keep(np.array(kept, np.bool_))
    assert columns.count == len(left)
    for at, held in [*facts, *now]:
        for key, value in [(key, value) for key, value in held.items() if is_scalar(value)]:
            where = Filter(created_after=at - 1, metadata={key: value})
            assert before.passing(where).tolist() == columns_of(facts).snapshot().passing(where).tolist()
            assert columns.snapshot().passing(where).tolist() == columns_of(left).snapshot().passing(where).tolist()


def columns_of(facts: list[tuple[int, Any]]) -> FilterColumns:
    columns = FilterColumns()
    columns.append([(at, to_json(held)) for at, held in facts])
    return columns


async def test_metadata_that_is_too_much_for_memory_is_compared_in_sql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_search, "_FACTS_BYTES", 1000)
    async with indexes(tmp_path / "index.sqlite3") as (first, _, in_sql):
        many = {f"key {number}": number for number in range(90)}
        values = np.eye(4, dtype=np.float32)[0]
        await first.upsert([IndexedVector(OWN, id_, values, n, 1, many | {"n": n}) for n, id_ in enumerate(IDS)])
        for where in (Filter(metadata={"n": 3}), Filter(metadata=many, created_after=5), Filter(metadata={"n": 9})):
            assert await found(first, where) == await found(in_sql, where)


async def test_metadata_that_changes_under_the_same_vector_is_compared_at_once_by_every_process(
    opened: Indexes,
) -> None:
    values = np.eye(4, dtype=np.float32)[0]
    for revision, colour in enumerate(("red", "blue", "red", "green")):
        await opened[revision % 2].upsert([IndexedVector(OWN, IDS[0], values, revision, revision, {"colour": colour})])
        for index in opened:
            assert len(await found(index, Filter(metadata={"colour": colour}, created_after=revision - 1))) == 1
            assert await found(index, Filter(metadata={"colour": "black"})) == []
            assert await found(index, Filter(created_before=revision)) == []


async def test_changes_that_were_missed_in_great_number_are_followed(tmp_path: Path) -> None:
    async with indexes(tmp_path / "index.sqlite3") as (first, second, in_sql):
        values = np.eye(4, dtype=np.float32)[0]
        ids = [str(ULID()) for _ in range(1200)]
        await first.upsert([IndexedVector(OWN, id_, values, 1, 1, {"v": 1}) for id_ in ids])
        assert len(await found(second, Filter(metadata={"v": 1}))) == 9
        await first.upsert([IndexedVector(OWN, id_, values, 1, 2, {"v": 2}) for id_ in ids[10:]])
        await first.delete(OWN, ids[:2])
        assert await found(second, Filter(metadata={"v": 1})) == await found(in_sql, Filter(metadata={"v": 1}))
        assert len(await found(second, Filter(metadata={"v": 1}))) == 8
        await first.delete(OWN, ids[2:10])
        assert await found(second, Filter(metadata={"v": 1})) == []


async def test_vectors_that_are_newer_than_the_last_filter_on_metadata_pass_a_filter_on_types(
    tmp_path: Path,
) -> None:
    migrated.prepare(tmp_path)
    async with indexes(tmp_path / DATABASE_FILE) as (first, second, in_sql):
        values = np.eye(4, dtype=np.float32)[0]
        async with sqlite_database(tmp_path / DATABASE_FILE) as database:
            ids = await Memories(database).put("one", "two", "three", scope=OWN)
            await database.run([Statement("UPDATE long_term_memory SET type = 'event'", writes=True)])
        await first.upsert([IndexedVector(OWN, ids[0], values, 1, 1, {"a": 1})])
        assert len(await found(first, Filter(metadata={"a": 1}))) == 1
        await first.upsert([IndexedVector(OWN, id_, values, 1, 1, {"a": 1}) for id_ in ids[1:]])
        for index in (first, second, in_sql):
            assert {hit.id for hit in await found(index, Filter(type="event"))} == set(ids)
            assert {hit.id for hit in await found(index, Filter(type="event", metadata={"a": 1}))} == set(ids)


EVENTS: dict[str, Callable[[int], bool]] = {
    "all": lambda _: True,
    "none": lambda _: False,
    "those nearest": lambda rank: rank < 9,
    "all but one of those nearest": lambda rank: rank < 10 and rank != 4,
    "one too few of those looked up": lambda rank: rank < 8 or rank > 300,
    "enough of those looked up, the last among them": lambda rank: rank < 8 or rank == 255,
    "enough but for one just behind those looked up": lambda rank: rank < 8 or rank == 256,
    "those farthest": lambda rank: rank > 350,
    "one in ten": lambda rank: rank % 10 == 3,
    "one, the farthest": lambda rank: rank == 359,
}


@pytest.mark.parametrize("of_one_score", [False, True])
async def test_a_filter_on_types_finds_the_nearest_that_pass_whether_some_are_looked_up_or_all(
    tmp_path: Path, *, of_one_score: bool
) -> None:
    migrated.prepare(tmp_path)
    async with (
        indexes(tmp_path / DATABASE_FILE) as (first, _, in_sql),
        sqlite_database(tmp_path / DATABASE_FILE) as database,
    ):
        ids = await Memories(database).put(*(f"memory {number}" for number in range(360)), scope=OWN)
        angles = np.linspace(0, 1.5, len(ids)) * (0 if of_one_score else 1)  # from what is asked for
        ranked = [*reversed(ids)] if of_one_score else ids  # of equals the newest comes first
        towards, beside = np.array([1, 0.5, 0, 0]) / 1.25, np.array([0, 0, 1, 0])
        values = [(np.cos(a) * towards + np.sin(a) * beside).astype(np.float32) for a in angles]
        await first.upsert(
            [
                IndexedVector(OWN, *of, number % 2, 1, {"n": number % 3})
                for number, of in enumerate(zip(ids, values, strict=True))
            ]
        )
        for name, is_event in EVENTS.items():
            events = [id_ for rank, id_ in enumerate(ranked) if is_event(rank)]
            sql = "UPDATE long_term_memory SET type = iif(id IN (SELECT value FROM json_each(?1)), 'event', 'task')"
            await database.run([Statement(sql, events, writes=True)])
            hits = await found(first, Filter(type="event"))
            assert [hit.id for hit in hits] == events[:9], name
            for where in (Filter(type="event"), Filter(type="event", created_after=0, metadata={"n": 1})):
                expected = [hit.id for hit in await found(in_sql, where)]
                assert [hit.id for hit in await found(first, where)] == expected, name


@pytest.mark.parametrize("doubts", [["bot"], ["other"], ["bot", "other"], []])
async def test_a_filter_on_types_leaves_out_the_doubtful_facts_of_its_agent_in_whose_place_a_sure_one_holds(
    tmp_path: Path, doubts: list[str]
) -> None:
    async with serving(tmp_path) as service:
        for agent in ("bot", "other"):
            fact = {"agent_id": agent, "subject": "user", "predicate": "lives in", "single": True}
            if agent in doubts:
                await service.post("/facts", fact | {"object": "Lima", "confidence": 0.2})
            await service.post("/facts", fact | {"object": "Rome"})
            await service.post("/facts", fact | {"subject": "Ann", "object": "Oslo", "confidence": 0.2})
        backends = service.runtime.backends
        question = np.ones(backends.embedder.config.dimensions, np.float32)
        for agent in ("bot", "other"):
            scope = Scope("acme", agent)
            hits = (await backends.index.query(scope, question, top_k=9, where=Filter(type="fact"))).hits
            memories = {
                each["id"]: each["content"] for each in await service.recall("where do they live", agent_id=agent)
            }
            assert sorted(memories[hit.id] for hit in hits) == ["Perhaps Ann lives in - Oslo", "user lives in - Rome"]
            everything = (await backends.index.query(scope, question, top_k=9, where=Filter())).hits
            assert len(everything) == 2 + (agent in doubts)


async def test_another_scope_has_filters_of_its_own(tmp_path: Path) -> None:
    async with indexes(tmp_path / "index.sqlite3") as (first, _, _):
        values = np.eye(4, dtype=np.float32)[0]
        await first.upsert([IndexedVector(OTHER, IDS[0], values, 1, 1, {"a": 1})])
        assert await found(first, Filter(metadata={"a": 1})) == []
