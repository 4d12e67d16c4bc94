"""A read that takes too long costs its own caller alone."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import DatabaseUnavailable
from app.ports.database import Statement

ENDLESS = Statement("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    file = SqliteFile(tmp_path / "test.sqlite3")
    yield SqliteDatabase(file, read_seconds=0.1)
    await file.close()


async def test_a_read_that_takes_too_long_is_stopped(database: SqliteDatabase) -> None:
    with pytest.raises(DatabaseUnavailable, match="took too long"):
        await database.run([ENDLESS])
    assert await database.run([Statement("SELECT 1 AS one")]) == [[{"one": 1}]]


async def test_what_was_asked_with_a_read_that_takes_too_long_is_answered(database: SqliteDatabase) -> None:
    asked = [database.run([Statement(f"SELECT {number} AS n")]) for number in range(3)]
    first, slow, *others = await asyncio.gather(asked[0], database.run([ENDLESS]), *asked[1:], return_exceptions=True)
    assert isinstance(slow, DatabaseUnavailable)
    assert [first, *others] == [[[{"n": number}]] for number in range(3)]
