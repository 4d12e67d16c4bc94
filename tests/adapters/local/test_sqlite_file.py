import asyncio
import threading
from pathlib import Path

import pytest

from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import DatabaseUnavailable


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
