"""A service that has a reader compares what is stored within a second, and what is left over once it starts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from app.adapters.local.processes import LockedProcesses
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.bootstrap import DATABASE_FILE
from app.domain.errors import ReaderUnavailable
from app.domain.memory import Scope
from app.indexing.reading_queue import ReadingQueue
from app.ports.reader import Reader
from tests.services.scripted_reader import REPLACES, ScriptedReader
from tests.support.memories import memory_column, superseded
from tests.support.service import Service, serving
from tests.support.tables import count_of
from tests.support.told import told

OLD, NEW = "Ella goes to Sunflower kindergarten", "Ella is a first grader at Parkside"


@asynccontextmanager
async def reading(data: Path, reader: Reader | None) -> AsyncIterator[Service]:
    async with serving(data, change=lambda backends: replace(backends, reader=reader)) as service:
        yield service


async def until_compared(service: Service) -> None:
    async with asyncio.timeout(20):
        while not all(await memory_column(service, "statements_read")):
            await asyncio.sleep(0.01)


async def store_both(service: Service) -> None:
    await service.store(OLD, occurred_at="2026-01-01T00:00:00Z")
    await service.store(NEW, occurred_at="2026-02-01T00:00:00Z")


async def test_what_is_stored_is_compared_soon(tmp_path: Path) -> None:
    async with reading(tmp_path, ScriptedReader({(OLD, NEW): REPLACES})) as service:
        await store_both(service)
        await until_compared(service)
        assert await superseded(service) == [OLD]
        assert await service.contents("Where does Ella go?") == [NEW]


async def test_while_another_process_of_the_machine_reads_nothing_is_compared_and_then_all_is(tmp_path: Path) -> None:
    other = LockedProcesses(tmp_path / f"{DATABASE_FILE}-processes", "other:1:ff")
    assert other.begin_turn()
    async with reading(tmp_path, ScriptedReader({(OLD, NEW): REPLACES})) as service:
        await store_both(service)
        await asyncio.sleep(0.2)
        assert not any(await memory_column(service, "statements_read"))
        other.end_turn()
        await until_compared(service)
        assert await superseded(service) == [OLD]
    assert other.begin_turn()
    other.end_turn()


async def test_what_a_process_that_ended_has_not_compared_the_next_one_does(tmp_path: Path) -> None:
    closed = ScriptedReader({(OLD, NEW): REPLACES}, error=ReaderUnavailable("It is closed."))
    async with reading(tmp_path, closed) as service:
        await store_both(service)
        assert await superseded(service) == []
    async with reading(tmp_path, ScriptedReader({(OLD, NEW): REPLACES})) as service:
        await until_compared(service)
        assert await superseded(service) == [OLD]


async def test_without_a_reader_keys_alone_hide_and_what_waits_does_so_until_there_is_one(tmp_path: Path) -> None:
    async with reading(tmp_path, None) as service:
        await store_both(service)
        for month, place in ((1, "Rome"), (2, "Oslo")):
            home = f"I live in {place}"
            await service.store(home, occurred_at=f"2026-0{month}-01T00:00:00Z", metadata=told(home))
        assert await superseded(service) == ["I live in Rome"]
        assert {OLD, NEW} <= set(await service.contents("Where does Ella go?"))
    async with reading(tmp_path, ScriptedReader({(OLD, NEW): REPLACES})) as service:
        await until_compared(service)
        assert sorted(map(str, await superseded(service))) == [OLD, "I live in Rome"]


def test_tenants_take_turns_in_the_queue() -> None:
    queue = ReadingQueue(most=100)
    queue.note(Scope("many", "bot"), [f"m{number}" for number in range(50)])
    queue.note(Scope("few", "bot"), ["f0", "f1"])
    assert [id_ for _, id_ in queue.take(5)] == ["m0", "f0", "m1", "f1", "m2"]
    assert len(queue) == 47
    queue.note(Scope("late", "bot"), [f"l{number}" for number in range(100)])
    assert len(queue) == 100
    assert len(queue.take(1_000)) == 100
    assert not queue.take(1)


def test_a_tenant_that_fills_the_queue_gives_way_to_one_that_has_less_in_it() -> None:
    queue = ReadingQueue(most=100)
    queue.note(Scope("many", "bot"), [f"m{number}" for number in range(1_000)])
    queue.note(Scope("late", "bot"), ["l0", "l1"])
    queue.note(Scope("many", "bot"), ["m1000"])
    assert [id_ for _, id_ in queue.take(4)] == ["m0", "l0", "m1", "l1"]
    assert len(queue) == 96


def test_what_is_taken_whole_leaves_an_empty_queue() -> None:
    queue = ReadingQueue(most=100)
    queue.note(Scope("few", "bot"), [f"f{number}" for number in range(150)])
    assert len(queue.take(1_000)) == 100
    assert not queue.take(1)


async def test_a_process_that_ends_leaves_no_lease_for_others_to_wait_for(tmp_path: Path) -> None:
    async with reading(tmp_path, ScriptedReader({})) as service:
        await service.store(OLD)
        await until_compared(service)
        while not await count_of(service, "lease", name="relations"):
            await asyncio.sleep(0.01)
    file = SqliteFile(tmp_path / DATABASE_FILE)
    try:
        assert await count_of(SqliteDatabase(file), "lease") == 0
    finally:
        await file.close()
