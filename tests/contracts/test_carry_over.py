"""A database of an older version is carried over, whoever dies on the way: it ends as an undisturbed one does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from app.ports.database import Database, Row, Statement
from app.storage.migrations.runner import SCHEMA, applied_migrations, known_migrations, migrate, schema_parts
from app.storage.tiers.tables import TIER_TABLES
from tests.contracts.conftest import Opened
from tests.support.dying import Killed
from tests.support.schema_text import READ, objects
from tests.support.tier_rows import row_of

NAMES = [migration.name for migration in known_migrations()]
OLDER = 29
"""How many migrations the older version has: with them all tiers are there."""
POINTS = 20
PARTS = len(schema_parts())
MEMORY = """
INSERT INTO long_term_memory (
  id, tenant_id, agent_id, content, content_hash, metadata, embedding_provider, embedding_model, embedding_dimensions,
  created_at, segments
) VALUES (
  printf('01K2Z4M1V7Q8T3B5N6C7%06d', {n}), 'acme', 'bot', 'Parcel {n} was sent', printf('%064d', {n}),
  '{{"order":{n}}}', 'hashing', 'v1', 3, 1700000000000 + {n}, ''
)
"""
CLAIM = """
INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
SELECT tenant_id, agent_id, 'parcel/at', created_at, id, id, 1 FROM long_term_memory
"""


@dataclass
class Dying:
    """A process's database. The process dies before its writing run of this number, or after it."""

    inner: Database
    left: int
    after: bool
    backend = "dying"
    history_days = 0

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        self.left -= any(statement.writes for statement in statements)
        if self.left == 0 and not self.after:
            raise Killed
        found = await self.inner.run(statements)
        if self.left == 0:
            raise Killed
        return found

    async def ping(self) -> None:
        await self.inner.ping()

    async def purge_log(self) -> bool:
        return await self.inner.purge_log()


async def rows(database: Database, sql: str) -> list[dict[str, Any]]:
    (found,) = await database.run([Statement(sql)])
    return [dict(row) for row in found]


async def fill(database: Database) -> None:
    """Make a database of the older version, with rows in each table that has any of a tenant's."""
    await migrate(database, known_migrations()[:OLDER])
    await database.run([Statement(MEMORY.format(n=number), writes=True) for number in range(40)])
    await database.run([Statement(CLAIM, writes=True)])
    for tier in TIER_TABLES:
        columns = {row["name"] for row in await rows(database, f"SELECT name FROM pragma_table_info('{tier.table}')")}
        for number in range(3 if columns else 0):
            row = {"tenant_id": "acme", **row_of(tier, number)}
            row = {column: value for column, value in row.items() if column in columns}
            names, values = ", ".join(row), ", ".join(f"?1 ->> '{name}'" for name in row)
            insert = f"INSERT INTO {tier.table} ({names}) SELECT {values} WHERE TRUE ON CONFLICT DO NOTHING"
            await database.run([Statement(insert, row, writes=True)])


async def contents(database: Database) -> dict[str, Any]:
    tables = await rows(database, "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
    names = {str(row["name"]) for row in tables} - {"d1_migrations", "sqlite_sequence", "sqlite_schema"}
    found: dict[str, Any] = {
        name: await rows(database, f"SELECT * FROM {name}") for name in names if not name.startswith("_cf_")
    }
    found["words"] = await rows(database, "SELECT rowid FROM memory_words WHERE memory_words MATCH 'parcel'")
    return found | {"schema": objects(await rows(database, READ))}


@pytest.mark.thorough
async def test_what_is_killed_on_the_way_and_begun_again_ends_as_what_was_left_alone(
    open_database: Opened, open_other_database: Opened
) -> None:
    async with open_other_database() as alone:
        await fill(alone)
        assert await migrate(alone) == NAMES[OLDER:]
        expected = await contents(alone)
    assert len(expected["words"]) == 40
    assert {table for table, found in expected.items() if found} > {
        "claim",
        "agent_runs",
        "memory_episodes",
        "workflow",
    }
    async with open_database() as database:
        await fill(database)
    for point in range(POINTS):
        async with open_database() as database:
            with pytest.raises(Killed):
                await migrate(Dying(database, left=1, after=bool(point % 2)))
    async with open_database() as database:
        assert await applied_migrations(database) == NAMES[: OLDER + POINTS // 2]
        assert await migrate(database) == NAMES[OLDER + POINTS // 2 :]
        assert await contents(database) == expected


@pytest.mark.parametrize("after", [False, True])
async def test_a_fresh_database_that_is_killed_at_each_of_its_runs_is_made_in_the_end(
    open_database: Opened, open_other_database: Opened, *, after: bool
) -> None:
    async with open_other_database() as alone:
        assert await migrate(alone) == [SCHEMA]
        expected = await contents(alone)
    killed = 0
    applied: list[str] | None = None
    while applied is None:
        async with open_database() as database:
            try:
                applied = await migrate(Dying(database, left=1 if after else 2, after=after))
            except Killed:
                killed += 1
    assert (killed, applied) == ((PARTS, []) if after else (PARTS - 1, [SCHEMA]))
    async with open_database() as database:
        assert await applied_migrations(database) == NAMES
        assert await contents(database) == expected
