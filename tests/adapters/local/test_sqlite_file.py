import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest

from app.adapters.local.sqlite_file import SqliteFile, open_to_others
from app.domain.errors import ConfigurationError, DatabaseUnavailable
from app.domain.memory import NewMemory
from tests.support.gateways import bench_on


async def test_a_file_that_is_closing_takes_no_more_work_and_finishes_what_it_took(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    gate = threading.Event()
    taken = asyncio.create_task(file.write(lambda _: gate.wait(10)))
    await asyncio.sleep(0)
    closing = asyncio.create_task(file.close())
    await asyncio.sleep(0)
    with pytest.raises(DatabaseUnavailable):
        await file.write(lambda _: None)
    with pytest.raises(DatabaseUnavailable):
        await file.read(lambda _: None)
    gate.set()
    assert await taken is True
    await closing


async def test_what_the_work_itself_raises_reaches_its_caller_and_leaves_nothing(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await file.write(lambda connection: connection.execute("CREATE TABLE t (x)").fetchall())

    def broken(connection: object) -> None:
        connection.execute("INSERT INTO t VALUES (1)")  # type: ignore[attr-defined]  # a connection
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await file.write(broken)
    assert await file.read(lambda connection: connection.execute("SELECT count(*) FROM t").fetchone()) == (0,)
    await file.close()


@pytest.mark.parametrize("mode", [0o022, 0o000])
async def test_the_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    usual = os.umask(mode)
    try:
        file = SqliteFile(tmp_path / "test.sqlite3")
        await file.write(lambda connection: connection.execute("CREATE TABLE t (x)").fetchall())
    finally:
        os.umask(usual)
    names = ["test.sqlite3", "test.sqlite3-shm", "test.sqlite3-wal"]
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names} == {0o600}
    await file.close()


@pytest.mark.parametrize("name", ["a b", "ü", "what?mode=ro", "100%20#", "file:x"])
async def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    file = SqliteFile(tmp_path / name / "test.sqlite3")
    await file.write(lambda connection: connection.execute("CREATE TABLE t (x)").fetchall())
    await file.close()
    assert (tmp_path / name / "test.sqlite3").stat().st_size > 0


def test_a_folder_whose_name_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        SqliteFile(tmp_path / "\udcff" / "test.sqlite3")


def test_what_others_can_reach_is_told(tmp_path: Path) -> None:
    path = tmp_path / "test.sqlite3"
    assert open_to_others(path) == []
    path.touch(0o644)
    path.with_name("test.sqlite3-wal").touch(0o600)
    tmp_path.chmod(0o755)
    assert open_to_others(path) == [f"{tmp_path} (0755)", f"{path} (0644)"]


async def test_what_was_deleted_is_in_no_byte_of_the_files_once_the_log_is_written_back(tmp_path: Path) -> None:
    secret = "the launch code is 7-4-1"
    async with bench_on(tmp_path) as bench:
        long = await bench.gateway.store("bot", NewMemory(f"{secret} {'and more ' * 900}", {"note": secret}))
        short = await bench.gateway.store("bot", NewMemory(secret))
        kept = await bench.gateway.store("bot", NewMemory("what is kept"))
        for memory_id in (long, short):
            await bench.gateway.delete("bot", memory_id)
        await bench.deliver()
    held = _bytes_in(tmp_path)  # closing the file has written the log back
    assert kept.encode() in held
    assert secret.encode() not in held


def _bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_an_emptied_file_is_as_small_as_it_was(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await file.write(lambda connection: connection.execute("CREATE TABLE t (x)").fetchall())
    empty = await file.stored_bytes()
    await file.write(lambda connection: connection.execute("INSERT INTO t VALUES (zeroblob(1000000))").fetchall())
    assert await file.stored_bytes() > 1_000_000
    await file.write(lambda connection: connection.execute("DELETE FROM t").fetchall())
    assert await file.stored_bytes() == empty
    await file.close()
