"""No room to write: nothing is lost, everything can still be read, and nobody has to restart anything."""

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import apsw
import httpx
import pytest

from app.adapters.local import sqlite_connection, sqlite_file
from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import StorageFull
from app.ports.database import Statement
from tests.process.conftest import Spawn, Start
from tests.process.memories import Memory, forgotten, halves, held, made, outbox_is_empty_in_time, store
from tests.process.server import Server, until

pytestmark = pytest.mark.thorough

CLIENTS = 6


def allow_files(server: Server, size: int) -> None:
    """Let no file of the process grow beyond a size, as a full disk would."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@dataclass(slots=True)
class Load:
    """Clients that store until each has been refused, and what they were told."""

    server: Server
    acknowledged: list[Memory] = field(default_factory=list)
    refused: dict[Memory, httpx.Response] = field(default_factory=dict)

    async def run(self, *, full_after: int) -> None:
        numbers = count()
        async with self.server.client() as client:

            async def storing() -> None:
                while True:
                    memory = made("squeezed", next(numbers))
                    answer = await store(client, memory)
                    if answer.status_code != 201:
                        self.refused[memory] = answer
                        return
                    self.acknowledged.append(memory)
                    if len(self.acknowledged) == full_after:
                        allow_files(self.server, 1)

            await asyncio.gather(*(storing() for _ in range(CLIENTS)))


@pytest.fixture(params=["log elsewhere", "log on the same disk"])
async def server(request: pytest.FixtureRequest, spawn: Spawn) -> Server:
    server = spawn(log=Path(os.devnull)) if request.param == "log elsewhere" else spawn()
    await server.ready()
    return server


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
async def test_a_disk_that_fills_up_loses_nothing_and_the_service_recovers_by_itself(
    server: Server, start: Start, data_dir: Path
) -> None:
    load = Load(server)
    await load.run(full_after=18)
    assert {answer.status_code for answer in load.refused.values()} == {503}
    assert {answer.headers["content-type"] for answer in load.refused.values()} == {"application/problem+json"}
    assert {answer.json()["code"] for answer in load.refused.values()} == {"storage_full"}

    async with server.client() as client:
        assert await forgotten(client, load.acknowledged) == []
        assert (await client.get("/healthz")).status_code == 200
        await until(server.is_not_ready)
        assert held(data_dir) == sorted(load.acknowledged)
        assert halves(data_dir) == {}

        allow_files(server, resource.RLIM_INFINITY)
        await server.ready()
        answers = await asyncio.gather(*(store(client, memory) for memory in load.refused))
        assert {answer.status_code for answer in answers} == {201}
        assert await forgotten(client, [*load.acknowledged, *load.refused]) == []

    assert await server.stop() == -signal.SIGTERM
    assert "Traceback" not in server.log.read_text()
    await start(INDEXER_SECONDS="0.02")
    assert halves(data_dir) == {}
    await until(lambda: outbox_is_empty_in_time(data_dir))


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Let the database have no more pages than ``most``, which may be changed."""
    pages = {"most": 100_000}
    opened = sqlite_connection.open_connection

    def limited(path: Path, *pragmas: str) -> apsw.Connection:
        return opened(path, *pragmas, f"PRAGMA max_page_count = {pages['most']}")

    monkeypatch.setattr(sqlite_file, "open_connection", limited)
    return pages


@pytest.fixture
async def database(tmp_path: Path, pages: dict[str, int]) -> AsyncIterator[SqliteDatabase]:
    pages["most"] = 30
    file = SqliteFile(tmp_path / "small.sqlite3")
    database = SqliteDatabase(file)
    await database.run([Statement("CREATE TABLE thing (n INTEGER PRIMARY KEY, filling TEXT)", writes=True)])
    yield database
    await file.close()


def insert(n: int) -> Statement:
    sql = "INSERT INTO thing (n, filling) VALUES (?1 ->> 'n', ?1 ->> 'filling')"
    return Statement(sql, {"n": n, "filling": "x" * 5000}, writes=True)


async def test_writes_that_share_a_commit_are_kept_or_refused_each_as_it_was_told(
    database: SqliteDatabase, pages: dict[str, int]
) -> None:
    kept: list[int] = []
    refused: list[BaseException] = []
    for first in range(0, 160, 8):
        group = range(first, first + 8)
        results = await asyncio.gather(*(database.run([insert(n)]) for n in group), return_exceptions=True)
        refused += [result for result in results if isinstance(result, BaseException)]
        kept += [n for n, result in zip(group, results, strict=True) if not isinstance(result, BaseException)]
        assert await numbers(database) == kept
    assert kept
    assert {type(error) for error in refused} == {StorageFull}

    pages["most"] = 100_000
    await database.run([insert(200)])
    assert await numbers(database) == [*kept, 200]


async def numbers(database: SqliteDatabase) -> list[int]:
    (rows,) = await database.run([Statement("SELECT n FROM thing ORDER BY n")])
    return [int(row["n"] or 0) for row in rows]
