"""Whether anybody has written to the file is told at once, whoever wrote, and never wrongly that nobody did."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from app.adapters.local.sqlite_file import SqliteFile


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    file = SqliteFile(tmp_path / "memory.sqlite3")
    await file.write(lambda connection: connection.execute("CREATE TABLE note (text)").fetchall())
    yield file
    await file.close()


async def test_it_changes_with_each_write_of_this_process_or_of_another_connection_and_with_nothing_else(
    file: SqliteFile,
) -> None:
    versions = [file.version.read(), file.version.read()]
    assert versions[0] is not None
    assert versions[0] == versions[1]
    await file.read(lambda connection: connection.execute("SELECT * FROM note").fetchall())
    assert file.version.read() == versions[0]
    await file.write(lambda connection: connection.execute("INSERT INTO note VALUES ('here')").fetchall())
    versions.append(file.version.read())
    other = apsw.Connection(str(file.path))
    other.execute("INSERT INTO note VALUES ('there')")
    other.close()
    versions.append(file.version.read())
    assert len(set(versions)) == 3


async def test_a_connection_that_is_opened_anew_has_another_version(file: SqliteFile) -> None:
    before = file.version.read()
    file.version.close()
    assert file.version.read() not in {None, before}


async def test_a_file_that_is_gone_or_another_one_does_not_tell(file: SqliteFile) -> None:
    assert file.version.read() is not None
    kept = file.path.with_name("kept")
    file.path.rename(kept)
    assert file.version.read() is None
    apsw.Connection(str(file.path)).execute("CREATE TABLE other (text)")
    assert file.version.read() is None
