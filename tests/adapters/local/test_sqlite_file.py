import asyncio
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import apsw
import pytest

from app.adapters.local.database_place import open_to_others
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import ConfigurationError, DatabaseRejected, DatabaseUnavailable
from app.domain.memory import NewMemory
from tests.support.gateways import bench_on

_WRITTEN = Path("/proc/self/io")


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


async def test_sqlite_does_not_count_the_memory_that_it_takes(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await file.write(lambda connection: connection.execute("CREATE TABLE t (x)").fetchall())
    assert apsw.memory_used() == 0
    await file.close()


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


@pytest.mark.skipif(not _WRITTEN.exists(), reason="only Linux counts what a process writes")
async def test_what_undoes_a_tenants_statement_is_kept_in_memory_and_what_undoes_a_migrations_in_a_file(
    tmp_path: Path,
) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    rows = [(number, bytes(3000)) for number in range(300)]  # too few for a checkpoint
    await file.write(lambda connection: connection.execute("CREATE TABLE t (x UNIQUE, y)").fetchall())
    await file.write(lambda connection: connection.executemany("INSERT INTO t VALUES (?, ?)", rows).fetchall())
    twice, once = [await _written_by_a_change(file, tenant_id) for tenant_id in ("", "acme")]
    assert once * 1.5 < twice
    await file.close()


async def _written_by_a_change(file: SqliteFile, tenant_id: str) -> int:
    """Return the bytes that are written to change each row of a table."""
    before = _written()
    await file.write(lambda connection: connection.execute("UPDATE t SET x = x + 1000").fetchall(), tenant_id)
    return _written() - before


def _written() -> int:
    return int(dict(line.split(": ") for line in _WRITTEN.read_text("utf-8").splitlines())["wchar"])


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


async def table_of(file: SqliteFile, *values: str) -> None:
    """Make a table of these values, which are SQL."""

    def work(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE t (x)")
        for value in values:
            connection.execute(f"INSERT INTO t VALUES ({value})")

    await file.write(work)


def all_rows(connection: apsw.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT x FROM t").fetchall()


def broken_midway(connection: apsw.Connection) -> None:
    """Fail between two rows, as code that computes with each of them may."""
    for (x,) in connection.execute("SELECT x FROM t"):
        raise ZeroDivisionError(x)


async def test_a_text_that_is_not_utf8_is_an_error_of_the_database(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await table_of(file, "1", "CAST(x'ff' AS TEXT)", "3")
    with pytest.raises(DatabaseRejected, match="not UTF-8"):
        await file.read(all_rows)
    await file.close()


@pytest.mark.parametrize("broken", [all_rows, broken_midway])
async def test_a_read_that_failed_between_two_rows_does_not_make_the_next_one_see_the_past(
    tmp_path: Path, broken: Callable[[apsw.Connection], object]
) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await table_of(file, "1", "CAST(x'ff' AS TEXT)", "3")
    failures = []
    for _ in range(3):
        with pytest.raises((DatabaseRejected, ZeroDivisionError)) as raised:
            await file.read(broken)
        failures.append(raised.value)  # as a log or a debugger may keep it
    await file.write(lambda connection: connection.execute("INSERT INTO t VALUES (4)").fetchall())
    assert await file.read(lambda connection: connection.execute("SELECT count(*) FROM t").get) == 4
    await file.close()


async def test_a_write_that_failed_between_two_rows_does_not_keep_the_next_one_from_the_disk(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    await table_of(file, "1", "2")
    with pytest.raises(ZeroDivisionError):
        await file.write(broken_midway)
    await file.write(lambda connection: connection.execute("INSERT INTO t VALUES (3)").fetchall())
    assert await file.read(lambda connection: connection.execute("SELECT count(*) FROM t").get) == 3
    await file.close()


async def test_a_connection_that_cannot_be_opened_for_want_of_memory_leaves_the_threads_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = SqliteFile(tmp_path / "test.sqlite3")
    with monkeypatch.context() as patched:
        patched.setattr(apsw, "Connection", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            await file.write(lambda _: None)
        with pytest.raises(MemoryError):
            await file.read(lambda _: None)
    await table_of(file, "1")
    assert await file.read(lambda connection: connection.execute("SELECT count(*) FROM t").get) == 1
    await file.close()
