"""A database file is made once; where it is missing later, it is lost and not new."""

import shutil
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import DatabaseLost
from app.ports.database import Statement

WRITE = Statement("CREATE TABLE IF NOT EXISTS thing (n INTEGER)", writes=True)
READ = Statement("SELECT count(*) AS number FROM sqlite_master")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "data").mkdir()
    return folder


@pytest.fixture
async def file(folder: Path) -> AsyncIterator[SqliteFile]:
    file = SqliteFile(folder / "memory.sqlite3")
    yield file
    await file.close()


async def used(path: Path) -> None:
    """Use a database as a process does, from its start to its end."""
    file = SqliteFile(path)
    try:
        await SqliteDatabase(file).run([WRITE])
    finally:
        await file.close()


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def moved(folder: Path, name: str) -> None:
    folder.rename(folder.with_name(name))


async def test_a_new_file_is_this_users_alone_and_nothing_is_left_of_its_making(folder: Path) -> None:
    path = folder / "memory.sqlite3"
    await used(path)
    await used(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(folder) == ["memory.sqlite3", "memory.sqlite3-made"]


async def test_a_file_of_0_bytes_is_refused_and_left_as_it_is(folder: Path) -> None:
    path = folder / "memory.sqlite3"
    path.touch()
    with pytest.raises(DatabaseLost, match=r"memory\.sqlite3 has no bytes") as refusal:
        await used(path)
    assert str(folder) not in refusal.value.detail
    assert path.stat().st_size == 0


async def test_a_file_that_was_made_and_is_missing_is_not_made_again_until_its_mark_is_removed(folder: Path) -> None:
    path = folder / "memory.sqlite3"
    await used(path)
    path.unlink()
    with pytest.raises(DatabaseLost, match="is missing"):
        await used(path)
    assert not path.exists()
    (folder / "memory.sqlite3-made").unlink()
    await used(path)


async def test_a_file_without_a_mark_as_older_versions_made_it_gets_one(folder: Path) -> None:
    path = folder / "memory.sqlite3"
    await used(path)
    (folder / "memory.sqlite3-made").unlink()
    await used(path)
    assert (folder / "memory.sqlite3-made").exists()


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def replaced(folder: Path) -> None:
    path = folder / "memory.sqlite3"
    copy = folder / "copy"
    shutil.copy(path, copy)
    copy.replace(path)


@pytest.mark.parametrize("change", [removed, emptied, replaced])
async def test_a_file_that_goes_while_it_is_in_use_is_neither_written_nor_read_nor_made_again(
    file: SqliteFile, folder: Path, change: Callable[[Path], None]
) -> None:
    database = SqliteDatabase(file)
    await database.run([WRITE])
    await database.run([READ])
    change(folder)
    for statement in (WRITE, READ):
        with pytest.raises(DatabaseLost):
            await database.run([statement])
    assert (folder / "memory.sqlite3").exists() == (change is replaced)


async def test_a_folder_that_comes_back_is_used_again(file: SqliteFile, folder: Path) -> None:
    database = SqliteDatabase(file)
    await database.run([WRITE])
    moved(folder, "elsewhere")
    with pytest.raises(DatabaseLost):
        await database.run([READ])
    moved(folder.with_name("elsewhere"), folder.name)
    await database.run([WRITE])
    assert await database.run([READ]) == [[{"number": 1}]]
