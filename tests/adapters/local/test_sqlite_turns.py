"""Who waits for whom at the SQLite file, told by the order in which work is done."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import apsw
import numpy as np
import pytest
from ulid import ULID

from app.adapters.local import sqlite_readers
from app.adapters.local.sqlite_connection import SqliteConnection
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.adapters.local.sqlite_index import SqliteVectorIndex
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import DatabaseUnavailable
from app.domain.memory import Scope
from app.domain.query import Filter
from app.ports.database import RunRefused, Statement
from app.ports.vector_index import IndexedVector

SCOPE = Scope("loud", "bot")
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await file.write(lambda connection: connection.execute("CREATE TABLE t (x)").fetchall())
    yield file
    await file.close()


def named(done: list[str], name: str) -> Callable[[apsw.Connection], None]:
    return lambda _: done.append(name)


def slow(connection: apsw.Connection) -> None:
    connection.execute(ENDLESS).fetchall()


async def test_eight_slow_reads_of_a_tenant_are_not_waited_for_by_another(file: SqliteFile) -> None:
    database = SqliteDatabase(file, read_seconds=1.0)
    loud = [asyncio.create_task(database.run([Statement(ENDLESS, tenant_id="loud")])) for _ in range(8)]
    await asyncio.sleep(0)
    for _ in range(20):
        assert await database.run([Statement("SELECT 1 AS one", tenant_id="quiet")]) == [[{"one": 1}]]
    assert not any(task.done() for task in loud)
    for task in loud:
        task.cancel()
    await asyncio.gather(*loud, return_exceptions=True)


async def test_reads_are_made_beside_one_that_takes_long(file: SqliteFile) -> None:
    gate = threading.Event()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(_: apsw.Connection) -> bool:
        loop.call_soon_threadsafe(begun.set)
        return gate.wait(30)

    long = asyncio.create_task(file.read(wait, "loud"))
    await begun.wait()
    for _ in range(20):  # the first comes before anyone can tell that the read takes long
        assert await asyncio.wait_for(file.read(lambda _: "read", "quiet"), 10) == "read"
    assert not long.done()
    gate.set()
    assert await long


async def test_a_read_that_computes_between_its_rows_is_made_beside_the_others_too(file: SqliteFile) -> None:
    threads: list[str] = []

    def compute(connection: SqliteConnection) -> None:
        threads.append(threading.current_thread().name)
        while connection.ends < math.inf:
            connection.stop_if_late()

    await file.read(compute, "loud")
    assert len(set(threads)) == len(threads) == 2
    with pytest.raises(DatabaseUnavailable, match="took too long"):
        await file.read(compute, "loud", seconds=0.05)


async def test_a_search_that_was_stopped_and_begun_again_finds_what_it_would_have(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = SqliteVectorIndex(file, EmbeddingConfig("test", "four", 4), cache_bytes=1 << 24)
    await index.prepare()
    metadata = {f"key {number}": number for number in range(20)}
    vectors = [
        IndexedVector(SCOPE, str(ULID()), np.eye(4, dtype=np.float32)[number % 4], 1, number, {**metadata, "n": number})
        for number in range(5000)
    ]
    await index.upsert(vectors)
    monkeypatch.setattr(sqlite_readers, "_TURN_SECONDS", 0.001)
    for number in (4, 4001):
        found = await index.query(SCOPE, vectors[number].values, top_k=5, where=Filter(metadata={"n": number}))
        assert [hit.id for hit in found.hits] == [vectors[number].id]


async def test_the_slow_reads_of_two_tenants_take_turns(file: SqliteFile) -> None:
    finished: list[str] = []

    async def read(tenant: str) -> None:
        with pytest.raises(DatabaseUnavailable, match="took too long"):
            await file.read(slow, tenant, seconds=0.05)
        finished.append(tenant)

    await asyncio.gather(*(read("loud") for _ in range(4)), read("quiet"))
    assert finished.index("quiet") <= 2


async def test_work_that_is_begun_again_gives_its_whole_result(file: SqliteFile) -> None:
    begun: list[int] = []

    def count(connection: apsw.Connection) -> int:
        begun.append(1)
        numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 600000) SELECT count(*) FROM n"
        return int(connection.execute(numbers).get)

    assert await file.read(count, "loud") == 600_000
    assert len(begun) == 2


async def test_a_write_waits_for_one_of_each_tenant_and_not_for_all_of_another(file: SqliteFile) -> None:
    gate, done = threading.Event(), list[str]()
    first = asyncio.create_task(file.write(lambda _: gate.wait(10), "loud"))
    await asyncio.sleep(0.05)
    loud = [asyncio.create_task(file.write(named(done, "loud"), "loud")) for _ in range(100)]
    await asyncio.sleep(0)
    quiet = asyncio.create_task(file.write(named(done, "quiet"), "quiet"))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, *loud, quiet)
    assert done.index("quiet") <= 1


@pytest.mark.thorough
async def test_a_group_of_long_writes_is_committed_before_all_are_made(file: SqliteFile) -> None:
    gate, finished = threading.Event(), list[int]()
    first = asyncio.create_task(file.write(lambda _: gate.wait(10)))

    def long(connection: apsw.Connection) -> None:
        connection.execute("INSERT INTO t VALUES (1)")
        numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 400000) SELECT count(*) FROM n"
        connection.execute(numbers).fetchall()

    async def write() -> None:
        await file.write(long, "loud")
        finished.append(await file.read(lambda connection: connection.execute("SELECT count(*) FROM t").get))

    writes = [asyncio.create_task(write()) for _ in range(8)]
    await asyncio.sleep(0.05)
    gate.set()
    await asyncio.gather(first, *writes)
    assert min(finished) < 8
    assert max(finished) == 8


async def test_a_write_that_fails_is_left_out_of_its_group(file: SqliteFile) -> None:
    gate = threading.Event()
    first = asyncio.create_task(file.write(lambda _: gate.wait(10)))
    good = [file.write(lambda c: c.execute("INSERT INTO t VALUES (1)").fetchall(), f"t{n}") for n in range(5)]
    bad = file.write(lambda c: c.execute("INSERT INTO absent VALUES (1)").fetchall(), "t1")
    tasks = [asyncio.create_task(each) for each in (*good, bad)]
    await asyncio.sleep(0.05)
    gate.set()
    *results, failure = await asyncio.gather(*tasks, return_exceptions=True)
    await first
    assert results == [[]] * 5
    assert isinstance(failure, Exception)
    assert await file.read(lambda connection: connection.execute("SELECT count(*) FROM t").fetchone()) == (5,)


async def test_writes_are_not_made_again_because_a_trigger_refused_another(file: SqliteFile) -> None:
    refusing = "CREATE TRIGGER refusing BEFORE INSERT ON t WHEN new.x < 0 BEGIN SELECT RAISE(ABORT, 'negative'); END"
    await file.write(lambda connection: connection.execute(refusing).fetchall())
    gate, made = threading.Event(), list[int]()
    first = asyncio.create_task(file.write(lambda _: gate.wait(10)))

    def insert(value: int) -> Callable[[apsw.Connection], None]:
        def work(connection: apsw.Connection) -> None:
            made.append(value)
            connection.execute("INSERT INTO t VALUES (?)", (value,))

        return work

    writes = [
        asyncio.create_task(file.write(insert(value), f"t{number}")) for number, value in enumerate([1, -1, 2, -2])
    ]
    await asyncio.sleep(0.05)
    gate.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    await first
    assert [isinstance(result, RunRefused) for result in results] == [False, True, False, True]
    assert made == [1, -1, 2, -2]
    assert await file.read(lambda connection: connection.execute("SELECT x FROM t").fetchall()) == [(1,), (2,)]


async def test_what_a_refused_write_had_changed_before_is_undone(file: SqliteFile) -> None:
    refusing = "CREATE TRIGGER refusing BEFORE INSERT ON t WHEN new.x < 0 BEGIN SELECT RAISE(ABORT, 'negative'); END"
    await file.write(lambda connection: connection.execute(refusing).fetchall())

    def half(connection: apsw.Connection) -> None:
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("INSERT INTO t VALUES (-1)")

    with pytest.raises(RunRefused):
        await file.write(half)
    assert await file.read(lambda connection: connection.execute("SELECT x FROM t").fetchall()) == []


def damaged(_: apsw.Connection) -> None:
    error = apsw.CorruptError("database disk image is malformed")
    error.result = apsw.SQLITE_CORRUPT  # type: ignore[attr-defined]  # SQLite's own errors have it
    raise error


async def test_a_read_that_meets_a_damaged_page_fails_alone(file: SqliteFile) -> None:
    done: list[str] = []
    gate = threading.Event()
    first = asyncio.create_task(file.read(lambda _: gate.wait(10), "first"))
    await asyncio.sleep(0.02)  # the others come while it is under way, and are taken together
    broken = asyncio.create_task(file.read(damaged, "a"))
    others = [asyncio.create_task(file.read(named(done, tenant), tenant)) for tenant in "bcd"]
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(DatabaseUnavailable):
        await broken
    await asyncio.gather(first, *others)
    assert sorted(done) == ["b", "c", "d"]
