"""A fresh database, which ``schema.sql`` makes, is the same as one that all migrations have made."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.errors import DatabaseRejected, SchemaTooNew, SchemaTooOld
from app.ports.database import Database, Statement
from app.storage.migrations.runner import (
    SCHEMA,
    Migration,
    applied_migrations,
    check_current,
    known_migrations,
    migrate,
    prepare_for_command,
    schema_parts,
)
from tests.support.schema_text import READ, objects

NAMES = [migration.name for migration in known_migrations()]


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Database]:
    file = SqliteFile(path)
    try:
        yield SqliteDatabase(file)
    finally:
        await file.close()


async def contents(database: Database) -> dict[str, list[str]]:
    """Return the rows of all tables, but for when which migration was applied."""
    (names,) = await database.run([Statement("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")])
    found: dict[str, list[str]] = {}
    for name in (str(row["name"]) for row in names):
        if name != "sqlite_sequence":
            columns = "name" if name == "d1_migrations" else "*"
            (rows,) = await database.run([Statement(f"SELECT {columns} FROM {name}")])
            found[name] = [repr(tuple(row.values())) for row in rows]
    return found


async def made(database: Database) -> tuple[Any, Any]:
    (rows,) = await database.run([Statement(READ)])
    return objects(rows), await contents(database)


@pytest.mark.parametrize("version", [1, 7, 18, 29, 36, 43, len(NAMES) - 1])
async def test_a_fresh_database_equals_one_that_was_carried_over_from_any_version(tmp_path: Path, version: int) -> None:
    async with opened(tmp_path / "fresh") as fresh, opened(tmp_path / "older") as older:
        assert await migrate(fresh) == [SCHEMA]
        assert await migrate(older, known_migrations()[:version]) == NAMES[:version]
        assert await migrate(older) == NAMES[version:]
        assert await made(older) == await made(fresh)
        assert await migrate(fresh) == await migrate(older) == []


async def test_the_words_of_a_fresh_database_are_set_as_those_of_one_that_was_carried_over(tmp_path: Path) -> None:
    async with opened(tmp_path / "fresh") as fresh:
        await migrate(fresh)
        (rows,) = await fresh.run([Statement("SELECT k FROM memory_words_config ORDER BY k")])
        assert [row["k"] for row in rows] == ["rank", "secure-delete", "usermerge", "version"]


async def test_code_that_knows_only_the_migrations_runs_on_a_fresh_database(tmp_path: Path) -> None:
    """So that a replica of the version before starts beside a newer one, or in its place."""
    async with opened(tmp_path / "fresh") as fresh:
        await migrate(fresh)
        assert await applied_migrations(fresh) == NAMES
        assert await migrate(fresh, known_migrations()) == []


async def test_what_follows_the_schema_is_applied_to_a_fresh_database_too(tmp_path: Path) -> None:
    async with opened(tmp_path / "fresh") as fresh:
        later = Migration("9999_later.sql", ("CREATE TABLE later (x TEXT) STRICT",))
        assert await migrate(fresh, [*known_migrations(), later]) == [SCHEMA, later.name]
        assert await applied_migrations(fresh) == [*NAMES, later.name]


def test_a_part_of_the_schema_fits_a_run_of_d1_with_its_records() -> None:
    for part in schema_parts():
        assert len(part.statements) + 2 <= 100
        assert all(len(statement.encode()) <= 100_000 for statement in part.statements)


@pytest.mark.parametrize("done", range(1, len(schema_parts())))
async def test_a_fresh_database_that_is_half_made_is_served_by_nobody_until_it_is_made(
    tmp_path: Path, done: int
) -> None:
    async with opened(tmp_path / "half") as half, opened(tmp_path / "fresh") as fresh:
        await migrate(fresh)
        with_parts = [Migration(part.name, part.statements) for part in schema_parts()[:done]]
        await migrate(half, with_parts)
        assert await applied_migrations(half) == []
        with pytest.raises(SchemaTooOld):
            await check_current(half)
        assert await prepare_for_command(half) == [SCHEMA]
        assert await made(half) == await made(fresh)


async def test_another_version_does_not_go_on_with_the_parts_of_this_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "half") as half:
        part = schema_parts()[0]
        await migrate(half, [Migration(part.name.replace(NAMES[-1], "9999_newer.sql"), part.statements)])
        with pytest.raises(SchemaTooNew, match=r"9999_newer\.sql"):
            await migrate(half)


@pytest.mark.parametrize("number", range(len(schema_parts())))
async def test_a_part_that_stopped_half_way_is_refused_by_what_is_there_and_never_recorded(
    tmp_path: Path, number: int
) -> None:
    async with opened(tmp_path / "half") as half:
        for part in schema_parts()[:number]:
            await migrate(half, [Migration(part.name, part.statements)])
        await half.run([Statement(schema_parts()[number].statements[0], writes=True)])
        for _ in range(2):
            with pytest.raises(DatabaseRejected, match="Migrating again does not help"):
                await migrate(half)
        assert await applied_migrations(half) == []


async def test_a_version_that_has_begun_with_its_migrations_is_not_disturbed(tmp_path: Path) -> None:
    """Two versions that start on an empty database at once: the newer one goes on where the other one is."""
    async with opened(tmp_path / "both") as both:

        class Overtaken:
            """A database that the other version migrates between this one's look at it and its first statement."""

            backend, history_days = "sqlite", 0

            async def run(self, statements: Any) -> Any:
                if any(each.writes for each in statements) and not await applied_migrations(both):
                    await migrate(both, known_migrations()[:3])
                return await both.run(statements)

            async def ping(self) -> None:
                await both.ping()

            async def purge_log(self) -> bool:
                return await both.purge_log()

        assert await migrate(Overtaken()) == NAMES[3:]
        assert await applied_migrations(both) == NAMES
