"""How a database that is at the newest schema goes about a statement."""

from pathlib import Path

import apsw

from app.bootstrap import DATABASE_FILE
from app.ports.database import Statement
from tests.support import migrated


def plan(folder: Path, statement: Statement) -> list[str]:
    """Return the steps of SQLite's plan, without running the statement; the folder gets a database if it has none."""
    migrated.prepare(folder)
    connection = apsw.Connection(str(folder / DATABASE_FILE))
    try:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters).fetchall()
    finally:
        connection.close()
    return [str(detail) for *_, detail in rows]
