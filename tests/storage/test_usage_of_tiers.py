"""The bytes of all tiers: what is counted is what a full count says, whatever is written, deleted, moved or erased."""

from pathlib import Path
from typing import Any

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.ports.database import Database, Statement
from app.storage.migrations.runner import known_migrations, migrate
from app.storage.tiers.tables import TIER_TABLES
from tests.attack.test_quotas import ATTACKS, prepared, sent
from tests.interfaces.http.test_operations import finish
from tests.support.counts import COUNTED, TABLES, counting, full_count
from tests.support.service import Service, serving
from tests.support.tables import column_of, rows_of
from tests.support.tier_rows import row_of


async def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    (found,) = await database.run([Statement.read(sql)])
    return [tuple(row.values()) for row in found]


async def assert_counted(database: Database) -> None:
    counts = [row for sql in counting(await rows(database, TABLES)) for row in await rows(database, sql)]
    assert await rows(database, COUNTED) == full_count(counts)


async def filled(service: Service) -> None:
    await prepared(service, "acme")
    for number, (name, attack) in enumerate(ATTACKS.items()):
        answer = await attack(service, "acme", number)
        assert answer.status_code < 300, (name, answer.text)


async def test_counts_are_those_of_the_tables_after_writes_an_export_and_erasures(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        database = service.runtime.backends.database
        admin = service.credential(admin=True)
        await filled(service)
        await assert_counted(database)
        for number in (1, 2):  # what is written again, and longer or shorter
            for attack in ATTACKS.values():
                await attack(service, "acme", number)
        await assert_counted(database)
        export = await service.client.get("/export", headers=admin)
        headers = service.credential("other", admin=True) | {"Content-Type": "application/x-ndjson"}
        assert (await service.client.post("/import", content=export.content, headers=headers)).status_code == 200
        await assert_counted(database)
        assert (await column_of(database, "usage", "bytes", tenant_id="other", agent_id=""))[0] > 100_000
        erasure = await sent(service, "acme", "DELETE", "/agents/bot", None)
        await finish(service, erasure.json()["id"])
        await assert_counted(database)
        assert await rows_of(database, "usage", tenant_id="acme", agent_id="bot") == []
        erasure = await sent(service, "acme", "DELETE", "/tenant?confirm=acme", None)
        await finish(service, erasure.json()["id"])
        await assert_counted(database)
        assert await rows_of(database, "usage", tenant_id="acme") == []


async def test_what_an_older_version_has_written_is_counted_when_it_is_migrated(tmp_path: Path) -> None:
    file = SqliteFile(tmp_path / "memory.sqlite3")
    database = SqliteDatabase(file)
    try:
        every = known_migrations()
        before = [each for each in every if each.name < "0036"]
        await migrate(database, before)
        for tier in TIER_TABLES:
            columns = {name for (name,) in await rows(database, f"SELECT name FROM pragma_table_info('{tier.table}')")}
            for number in range(3 if columns else 0):  # some tables and columns are of a later version
                row = {"tenant_id": "acme", **row_of(tier, number)}
                row = {column: value for column, value in row.items() if column in columns}
                names, values = ", ".join(row), ", ".join(f"?1 ->> '{name}'" for name in row)
                insert = f"INSERT INTO {tier.table} ({names}) SELECT {values} WHERE TRUE ON CONFLICT DO NOTHING"
                await database.run([Statement(insert, row, writes=True)])
        await migrate(database, every)
        await assert_counted(database)
        assert {owner for _, owner, *_ in await rows(database, COUNTED)} >= {"", "bot"}
    finally:
        await file.close()
