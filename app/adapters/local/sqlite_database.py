"""The ``Database`` port on a SQLite file."""

import sqlite3
from collections.abc import Sequence

from app.adapters.local.sqlite_file import SqliteFile, numbered
from app.ports.database import Row, Statement


class SqliteDatabase:
    """D1's dialect on stdlib sqlite3, with D1's limits. Implements ``app.ports.database.Database``."""

    backend = "sqlite"

    def __init__(self, file: SqliteFile) -> None:
        """Use a file that the caller opened and closes."""
        self._file = file

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements as one transaction, on a snapshot where none of them writes."""

        def work(connection: sqlite3.Connection) -> list[list[Row]]:
            return [_execute(connection, statement) for statement in statements]

        writes = any(statement.writes for statement in statements)
        return await (self._file.write(work) if writes else self._file.read(work))

    async def ping(self) -> None:
        """Read from the file."""
        await self.run([Statement("SELECT count(*) FROM sqlite_master")])


def _execute(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    cursor = connection.execute(statement.sql, numbered(*statement.parameters))
    if cursor.description is None:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
