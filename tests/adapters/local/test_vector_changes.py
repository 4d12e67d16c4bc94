"""Of a scope without vectors the file keeps no name, and copies in memory of what it held before are not believed."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest
from ulid import ULID

from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import EmbeddingConfig
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.vector_index import IndexedVector
from tests.support import generation

FOUR = EmbeddingConfig("test", "four", 4)
OWN, OTHER = Scope("acme-of-erasure", "bot-of-erasure"), Scope("globex", "clerk")
VALUES = np.eye(1, 4, dtype=np.float32)[0]
_STEPS = 60
_SEEDS = range(200 if generation.LONG else 4)

_TRIGGER_OF_BEFORE = """
CREATE TRIGGER IF NOT EXISTS local_vector_removal AFTER DELETE ON local_vector BEGIN
  INSERT INTO local_vector_removals VALUES (old.tenant_id, old.agent_id, old.index_name, 1)
  ON CONFLICT DO UPDATE SET removals = removals + 1;
  INSERT INTO local_vector_change
  SELECT tenant_id, agent_id, index_name, removals, old.number FROM local_vector_removals
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND index_name = old.index_name;
END
"""


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[list[SqliteVectorIndex]]:
    """Two indexes on one file, as two processes have them, and one that keeps nothing in memory."""
    files = [SqliteFile(tmp_path / "index.sqlite3") for _ in range(3)]
    indexes = [
        SqliteVectorIndex(file, FOUR, cache_bytes=size) for file, size in zip(files, (1 << 20, 1 << 20, 0), strict=True)
    ]
    await indexes[0].prepare()
    yield indexes
    for file in files:
        await file.close()


async def stored(index: SqliteVectorIndex, scope: Scope = OWN, count: int = 1, revision: int = 1) -> list[str]:
    vectors = [IndexedVector(scope, str(ULID()), VALUES, 1, revision) for _ in range(count)]
    await index.upsert(vectors)
    return [vector.id for vector in vectors]


async def renew(index: SqliteVectorIndex, id_: str, scope: Scope = OWN) -> None:
    await index.upsert([IndexedVector(scope, id_, VALUES, 1, 2, {"renewed": True})])


async def found(index: SqliteVectorIndex, scope: Scope = OWN, where: Filter | None = None) -> set[str]:
    return {hit.id for hit in (await index.query(scope, VALUES, top_k=99, where=where or Filter())).hits}


def all_text(folder: Path) -> str:
    """All rows of all tables of the file."""
    with closing(apsw.Connection(str(folder / "index.sqlite3"))) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return str([connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables])


async def one_by_one(index: SqliteVectorIndex, ids: list[str]) -> None:
    for id_ in ids:
        await index.delete(OWN, [id_])


async def together(index: SqliteVectorIndex, ids: list[str]) -> None:
    await index.delete(OWN, ids)


async def after_a_renewal(index: SqliteVectorIndex, ids: list[str]) -> None:
    await renew(index, ids[0])
    await index.delete(OWN, ids)


async def with_the_index(index: SqliteVectorIndex, _: list[str]) -> None:
    await index.destroy()


@pytest.mark.parametrize("emptied", [one_by_one, together, after_a_renewal, with_the_index])
async def test_an_agent_whose_vectors_are_all_deleted_is_named_nowhere_in_the_file(
    processes: list[SqliteVectorIndex],
    tmp_path: Path,
    emptied: Callable[[SqliteVectorIndex, list[str]], Awaitable[None]],
) -> None:
    ids = await stored(processes[0], count=3)
    kept = await stored(processes[0], OTHER, 2)
    await renew(processes[0], kept[0], OTHER)
    assert OWN.agent_id in all_text(tmp_path)
    await emptied(processes[0], ids)
    assert OWN.agent_id not in all_text(tmp_path)
    assert OWN.tenant_id not in all_text(tmp_path)


async def test_a_vector_that_was_queued_before_its_removal_stays_away_though_no_name_is_kept(
    processes: list[SqliteVectorIndex],
) -> None:
    (id_,) = await stored(processes[0])
    await stored(processes[0], OTHER)
    await processes[0].delete(OWN, [id_])
    await processes[1].upsert([IndexedVector(OWN, id_, VALUES, 1, 1), IndexedVector(OTHER, id_, VALUES, 1, 1)])
    assert await found(processes[1]) == set()
    assert id_ in await found(processes[1], OTHER)  # another scope's vector of this id was not removed


@pytest.mark.parametrize("removed_before", [0, 1, 3])
@pytest.mark.parametrize("removed_after", [0, 1, 4])
@pytest.mark.parametrize("emptied_elsewhere", [0, 2, 9])
async def test_what_another_process_has_of_an_emptied_agent_is_not_found_once_it_is_filled_again(
    processes: list[SqliteVectorIndex], removed_before: int, removed_after: int, emptied_elsewhere: int
) -> None:
    first, second, _ = processes
    ids = await stored(first, count=5)
    await one_by_one(first, ids[:removed_before])
    assert await found(second) == set(ids[removed_before:])
    await first.delete(OWN, ids[removed_before:])
    for _ in range(emptied_elsewhere):
        await first.delete(OTHER, await stored(first, OTHER))
    again = await stored(first, count=6)
    await one_by_one(first, again[:removed_after])
    assert await found(second) == set(again[removed_after:])
    assert await found(second, where=Filter(created_after=0)) == set(again[removed_after:])


async def test_a_search_on_a_snapshot_before_an_agent_was_emptied_and_filled_again_finds_nothing_wrong(
    processes: list[SqliteVectorIndex], tmp_path: Path
) -> None:
    first, second, _ = processes
    before = await stored(first, count=2)
    await renew(first, before[0])
    hits = second.ask_within(OWN, VALUES, top_k=9, where=Filter())
    assert hits is not None
    with closing(apsw.Connection(str(tmp_path / "index.sqlite3"))) as older:
        older.execute("BEGIN")
        older.execute("SELECT count(*) FROM local_vector").fetchall()
        await first.delete(OWN, before)
        again = await stored(first, count=2)
        assert await found(second) == set(again)
        assert {hit.id for hit in hits.search(older).hits} <= {*before, *again}  # type: ignore[attr-defined]
        older.execute("ROLLBACK")
    assert await found(second) == set(again)


@pytest.mark.parametrize("seed", _SEEDS)
async def test_processes_find_what_the_file_has_whatever_is_stored_renewed_and_emptied(
    processes: list[SqliteVectorIndex], tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    here: dict[Scope, list[str]] = {OWN: [], OTHER: []}
    for step in range(_STEPS):
        scope, index = draw.choice([OWN, OWN, OTHER]), draw.choice(processes[:2])
        ids = here[scope]
        act = draw.choice(["store", "store", "renew", "delete", "delete", "empty"])
        if act == "store":
            ids += await stored(index, scope, draw.randint(1, 3))
        elif act == "renew" and ids:
            await index.upsert([IndexedVector(scope, draw.choice(ids), VALUES, 1, step, {"step": step})])
        elif act == "delete" and ids:
            await index.delete(scope, [ids.pop(draw.randrange(len(ids)))])
        elif act == "empty" and ids:
            await index.delete(scope, ids)
            ids.clear()
        for each in draw.sample(processes, 2):
            for where in (Filter(), Filter(metadata={"step": step})):
                expected = await found(processes[2], scope, where)
                assert await found(each, scope, where) == expected, f"step {step}"
        assert await found(processes[2], scope) == set(ids)
        assert (OWN.agent_id in all_text(tmp_path)) == bool(here[OWN])


async def test_a_version_before_that_starts_beside_this_one_changes_no_count(
    processes: list[SqliteVectorIndex], tmp_path: Path
) -> None:
    with closing(apsw.Connection(str(tmp_path / "index.sqlite3"))) as before:
        before.execute(_TRIGGER_OF_BEFORE)
    first, second, _ = processes
    for _ in range(3):
        await first.delete(OTHER, await stored(first, OTHER))
    ids = await stored(first, count=2)
    assert await found(second) == set(ids)
    await one_by_one(first, ids)
    again = await stored(first, count=12)
    await one_by_one(first, again[:10])
    assert await found(second) == set(again[10:])


async def test_names_that_a_version_before_has_kept_go_with_the_next_start(
    processes: list[SqliteVectorIndex], tmp_path: Path
) -> None:
    ids = await stored(processes[0], OTHER, 3)
    await renew(processes[0], ids[0], OTHER)
    with closing(apsw.Connection(str(tmp_path / "index.sqlite3"))) as before:
        before.execute("DROP TABLE local_vector_floor")
        names = (OWN.tenant_id, OWN.agent_id, FOUR.index_name)
        before.execute("INSERT INTO local_vector_removals VALUES (?, ?, ?, 40)", names)
        before.execute("INSERT INTO local_vector_change VALUES (?, ?, ?, 40, 1)", names)
        before.execute("INSERT INTO local_vector_removed VALUES (?, ?, ?, 'id', 1)", names)
    await processes[1].prepare()
    assert OWN.agent_id not in all_text(tmp_path)
    assert await found(processes[1], OTHER) == set(ids)
    await processes[0].delete(OTHER, ids[:1])
    assert await found(processes[1], OTHER) == set(ids[1:])
    again = await stored(processes[0], count=2)
    await processes[0].delete(OWN, again[:1])
    assert await found(processes[1]) == {again[1]}
