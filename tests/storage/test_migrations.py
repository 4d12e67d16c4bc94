import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.bootstrap import DATABASE_FILE
from app.domain.errors import DatabaseRejected, SchemaTooNew
from app.domain.json_types import Scalar
from app.ports.database import Statement
from app.storage.migrations.runner import SCHEMA, Migration, applied_migrations, known_migrations, migrate, split
from tests.support.migrated import prepare

FIRST = Migration("0001_a.sql", ("CREATE TABLE a (x TEXT)", "CREATE TABLE b (x TEXT)"))
SECOND = Migration("0002_c.sql", ("CREATE TABLE c (x TEXT)",))
BROKEN = Migration("0002_c.sql", ("CREATE TABLE c (x TEXT)", "CREATE TABLE a (x TEXT)"))


FOLLOWING = range(51, len(known_migrations()))
"""The last of the migrations that change no more, and those that follow it."""
_THERE = r"already exists|duplicate column name|no such (table|view)|UNIQUE constraint failed: schema_compatibility"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    file = SqliteFile(tmp_path / "test.sqlite3")
    yield SqliteDatabase(file)
    await file.close()


async def tables(database: SqliteDatabase) -> set[Scalar]:
    (rows,) = await database.run([Statement("SELECT name FROM sqlite_master WHERE type = 'table'")])
    return {row["name"] for row in rows} - {"sqlite_sequence"}


async def test_what_is_missing_is_applied_in_order_and_once(database: SqliteDatabase) -> None:
    assert await migrate(database, [FIRST]) == ["0001_a.sql"]
    assert await migrate(database, [FIRST, SECOND]) == ["0002_c.sql"]
    assert await migrate(database, [FIRST, SECOND]) == []
    assert await applied_migrations(database) == ["0001_a.sql", "0002_c.sql"]
    assert await tables(database) == {"a", "b", "c", "d1_migrations"}


async def test_a_migration_that_fails_leaves_nothing_behind(database: SqliteDatabase) -> None:
    await migrate(database, [FIRST])
    with pytest.raises(DatabaseRejected):
        await migrate(database, [FIRST, BROKEN])
    assert await tables(database) == {"a", "b", "d1_migrations"}
    assert await migrate(database, [FIRST, SECOND]) == ["0002_c.sql"]


@pytest.mark.parametrize("number", [0, 6, 13, 35, *FOLLOWING])
async def test_a_migration_that_stopped_half_way_is_refused_by_what_is_there_and_never_recorded(
    database: SqliteDatabase, number: int
) -> None:
    known = known_migrations()
    before = await migrate(database, known[:number])
    await database.run([Statement(known[number].statements[0], writes=True)])
    for _ in range(2):
        with pytest.raises(DatabaseRejected, match=_THERE) as caught:
            await migrate(database)
        assert "Migrating again does not help" in caught.value.detail
    assert await applied_migrations(database) == before


async def test_a_database_of_a_newer_version_is_refused_by_name(database: SqliteDatabase) -> None:
    await migrate(database, [FIRST, SECOND])
    with pytest.raises(SchemaTooNew, match=r"newer version \(0002_c\.sql unknown here\)"):
        await migrate(database, [FIRST])


@pytest.mark.parametrize("older", [0, 1, 40])
async def test_two_processes_at_once_apply_each_migration_once(tmp_path: Path, older: int) -> None:
    files = [SqliteFile(tmp_path / "test.sqlite3") for _ in range(4)]
    known = known_migrations()
    await migrate(SqliteDatabase(files[0]), known[:older])
    applied = await asyncio.gather(*(migrate(SqliteDatabase(file)) for file in files))
    names = [name for names in applied for name in names]
    assert sorted(names) == ([migration.name for migration in known[older:]] if older else [SCHEMA])
    assert await applied_migrations(SqliteDatabase(files[0])) == [migration.name for migration in known]
    for file in files:
        await file.close()


async def test_the_record_is_kept_in_wranglers_own_form(database: SqliteDatabase) -> None:
    await migrate(database, [FIRST])
    (columns,) = await database.run(
        [Statement("SELECT name, type, pk, \"notnull\" FROM pragma_table_info('d1_migrations')")]
    )
    assert [tuple(column.values()) for column in columns] == [
        ("id", "INTEGER", 1, 0),
        ("name", "TEXT", 0, 0),
        ("applied_at", "TIMESTAMP", 0, 1),
    ]
    (rows,) = await database.run([Statement("SELECT id, name, applied_at FROM d1_migrations")])
    assert (rows[0]["id"], rows[0]["name"]) == (1, "0001_a.sql")
    assert len(str(rows[0]["applied_at"])) == len("2026-01-01 00:00:00")


def test_every_file_is_numbered_and_fits_what_d1_takes() -> None:
    migrations = known_migrations()
    numbers = [migration.name.partition("_")[0] for migration in migrations]
    assert numbers == sorted(set(numbers))
    assert all(re.fullmatch("[0-9]{4}", number) for number in numbers)
    for migration in migrations:
        assert len(migration.statements) + 2 <= 100
        assert all(len(statement.encode()) <= 100_000 for statement in migration.statements)


def test_a_script_is_split_at_its_statements_and_nowhere_else() -> None:
    script = """
    CREATE TABLE a (x TEXT DEFAULT ';'); -- a comment; with a semicolon
    CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT ';'; END;
    /* another; */ INSERT INTO a VALUES ('--;');
    """
    statements = list(split(script))
    assert len(statements) == 3
    database = sqlite3.connect(":memory:")
    for statement in statements:
        database.execute(statement)
    assert database.execute("SELECT x FROM a").fetchall() == [("--;",)]
    database.close()


@pytest.fixture
async def migrated(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    prepare(tmp_path)
    file = SqliteFile(tmp_path / DATABASE_FILE)
    yield SqliteDatabase(file)
    await file.close()


ROW = {
    "id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "tenant_id": "acme",
    "agent_id": "bot",
    "content": "text",
    "content_hash": "0" * 64,
    "metadata": "{}",
    "session_id": None,
    "occurred_at": None,
    "embedding_provider": "local",
    "embedding_model": "m",
    "embedding_dimensions": 3,
    "created_at": 1,
}


def insert(**changes: object) -> Statement:
    row = ROW | changes
    values = ", ".join(f"?1 ->> '{name}'" for name in row)
    sql = f"INSERT INTO long_term_memory ({', '.join(row)}) VALUES ({values})"
    return Statement(sql, row, writes=True)  # type: ignore[arg-type]  # the changes are JSON


async def test_a_row_within_the_limits_is_taken(migrated: SqliteDatabase) -> None:
    await migrated.run([insert(content="å" * 16384, tenant_id="t" * 64, session_id="s" * 256, occurred_at=-5)])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "short"),
        ("id", "01K2Z4M1V7Q8T3B5N6C7D8E9FI"),
        ("tenant_id", ""),
        ("tenant_id", None),
        ("tenant_id", "t" * 65),
        ("tenant_id", "a b"),
        ("agent_id", "ä"),
        ("content", "  "),
        ("content", "å" * 16384 + "x"),
        ("content_hash", "0" * 63),
        ("content_hash", "G" * 64),
        ("metadata", "{"),
        ("metadata", "[]"),
        ("metadata", '{"k": "' + "x" * 10240 + '"}'),
        ("session_id", ""),
        ("session_id", "s" * 257),
        ("occurred_at", "yesterday"),
        ("embedding_provider", ""),
        ("embedding_dimensions", 0),
        ("created_at", None),
        ("created_at", "now"),
    ],
)
async def test_the_database_itself_refuses_what_is_over_the_limits(
    migrated: SqliteDatabase, column: str, value: object
) -> None:
    with pytest.raises(DatabaseRejected):
        await migrated.run([insert(**{column: value})])


async def test_the_same_content_hash_is_taken_once_for_an_agent(migrated: SqliteDatabase) -> None:
    await migrated.run([insert(), insert(id="01K2Z4M1V7Q8T3B5N6C7D8E9FB", agent_id="other")])
    with pytest.raises(DatabaseRejected):
        await migrated.run([insert(id="01K2Z4M1V7Q8T3B5N6C7D8E9FC")])


async def test_nothing_can_change_created_at(migrated: SqliteDatabase) -> None:
    await migrated.run([insert()])
    with pytest.raises(DatabaseRejected, match="created_at may not change"):
        await migrated.run([Statement("UPDATE long_term_memory SET created_at = created_at + 1", writes=True)])


async def test_every_new_migration_says_which_code_may_run_beside_it(database: SqliteDatabase) -> None:
    await migrate(database)
    names = [migration.name for migration in known_migrations()]
    (rows,) = await database.run([Statement("SELECT name, oldest FROM schema_compatibility")])
    said = {str(row["name"]): str(row["oldest"]) for row in rows}
    assert [name for name in names if name >= "0037" and name not in said] == []
    assert set(said) | set(said.values()) <= set(names)
    assert all(oldest <= name for name, oldest in said.items())


@pytest.mark.parametrize(("oldest", "may"), [("0001_a.sql", True), ("0002_c.sql", False), (None, False)])
async def test_code_runs_beside_an_unknown_migration_only_if_that_says_so(
    database: SqliteDatabase, oldest: str | None, *, may: bool
) -> None:
    table = "CREATE TABLE schema_compatibility (name TEXT PRIMARY KEY, oldest TEXT NOT NULL)"
    row = f"INSERT INTO schema_compatibility VALUES ('{SECOND.name}', '{oldest}')"
    beside = Migration(SECOND.name, (*SECOND.statements, table, *([row] if oldest else [])))
    await migrate(database, [FIRST, beside])
    if may:
        assert await migrate(database, [FIRST]) == []
        with pytest.raises(SchemaTooNew):  # of two versions that have grown apart neither can be brought up to date
            await migrate(database, [FIRST, Migration("0002_b.sql", ("CREATE TABLE other (x TEXT)",))])
    else:
        with pytest.raises(SchemaTooNew, match=r"0002_c\.sql"):
            await migrate(database, [FIRST])
