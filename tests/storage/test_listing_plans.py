"""What listings read: rows by their keys, whatever else the agent has."""

import sqlite3
from pathlib import Path

import pytest

from app.domain.memory import Scope
from app.ports.database import Statement
from app.storage.listing import MemoryListing
from tests.support import migrated

SCOPE = Scope("acme", "bot")
LISTING = MemoryListing(SCOPE.tenant_id)


@pytest.mark.parametrize(
    "statement",
    [
        LISTING.standing(SCOPE, ["1", "2"], limit=8),
        LISTING.profile(SCOPE, limit=5, after=None, session_id=None, type_="instruction"),
    ],
    ids=["standing", "profile"],
)
def test_a_memory_its_claims_and_what_replaced_it_are_found_by_their_keys(statement: Statement, tmp_path: Path) -> None:
    migrated.prepare(tmp_path)
    with sqlite3.connect(tmp_path / "memory.sqlite3") as connection:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters).fetchall()
    details = [str(row[3]) for row in rows]
    tables = ("memory", "stated", "later", "holder")
    assert not [one for one in details if one.startswith(tuple(f"SCAN {table} " for table in tables))], details
    claims = [one for one in details if " stated " in one]
    assert claims, details
    assert all("memory_id=?" in one for one in claims), details
