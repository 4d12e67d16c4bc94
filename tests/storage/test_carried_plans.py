"""What the statements of a move read: their own rows, whatever else the tenant has."""

import sqlite3
from pathlib import Path

import pytest

from app.ports.database import Statement
from app.storage.system import carried
from app.storage.system.carried import CarriedTable, read_tables
from tests.support import migrated

FEW = {"erasure", "context_floor", "episodic_count"}
"""Tables of which a tenant has few rows, so that reading all of them for each page costs nothing."""
SHORT_KEYS = {"model_spend"}
"""Tables of which a tenant has few rows, and in whose keys a number comes first."""


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    migrated.prepare(tmp_path)
    connection = sqlite3.connect(tmp_path / "memory.sqlite3")
    connection.row_factory = sqlite3.Row
    return connection


def tables_of(connection: sqlite3.Connection) -> list[CarriedTable]:
    return read_tables([dict(row) for row in connection.execute(carried.READ_SCHEMA.sql)])


def test_a_page_goes_on_where_the_last_one_ended(connection: sqlite3.Connection) -> None:
    tables = [table for table in tables_of(connection) if table.name not in FEW]
    assert {"long_term_memory", "audit", "ingestion", "claim"} <= {table.name for table in tables}
    for table in tables:
        page = table.page("acme", tuple("1" for _ in table.walk), 200)
        details = plan(connection, page)
        assert [detail for detail in details if "USE TEMP" in detail or "(tenant_id=? AND " not in detail] == [], (
            table.name,
            details,
        )


def test_rows_are_found_and_deleted_by_their_keys_whatever_else_the_tenant_has(connection: sqlite3.Connection) -> None:
    for table in tables_of(connection):
        if table.key == () or table.name in SHORT_KEYS:
            continue
        keys = [tuple("1" for _ in table.key)]
        for renumbered in (False, True):
            found = table.of_keys("acme", keys, renumbered=renumbered)
            deleted = table.delete("acme", keys, renumbered=renumbered)
            for statement in (found, *deleted, table.drop("acme", 200)):
                first, *_ = plan(connection, statement)
                assert not first.endswith("(tenant_id=?)"), (table.name, first)
    assert "(id=?)" in plan(connection, carried.queue_removals("acme", ["1"]))[0]


def plan(connection: sqlite3.Connection, statement: Statement) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)
    return [str(row["detail"]) for row in rows]


def test_the_order_of_pages_is_one_that_no_two_rows_share(connection: sqlite3.Connection) -> None:
    for table in tables_of(connection):
        assert set(table.key) <= set(table.walk), table.name
