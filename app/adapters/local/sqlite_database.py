"""The ``Database`` port on a SQLite file."""

import sqlite3
from collections.abc import Sequence

from app.adapters.local.coalescer import Coalescer
from app.adapters.local.sqlite_errors import closes_connection, mapped
from app.adapters.local.sqlite_file import SqliteFile, numbered
from app.domain.errors import MemoryGatewayError
from app.ports.database import Row, Statement


class SqliteDatabase:
    """Runs D1's dialect on stdlib sqlite3, with D1's limits. Implements ``app.ports.database.Database``.

    Concurrent runs that only read share a thread hop and a snapshot; concurrent runs that write share a commit.
    """

    backend = "sqlite"
    history_days = 0

    def __init__(self, file: SqliteFile) -> None:
        """Use a file that the caller opens and closes."""
        self._file = file
        self._reads: Coalescer[None, Sequence[Statement], list[list[Row]]] = Coalescer(self._read)

    async def run(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run the statements as one transaction, on a snapshot if none of them writes."""
        if any(statement.writes for statement in statements):
            return await self._file.write(lambda connection: _run(connection, statements))
        return await self._reads.ask(None, statements)

    async def ping(self) -> None:
        """Read from the file."""
        await self.run([Statement("SELECT count(*) FROM sqlite_master")])

    async def _read(self, _: None, runs: Sequence[Sequence[Statement]]) -> list[list[list[Row]] | MemoryGatewayError]:
        return await self._file.read(lambda connection: [_run_or_refuse(connection, run) for run in runs])


def _run(connection: sqlite3.Connection, statements: Sequence[Statement]) -> list[list[Row]]:
    return [_execute(connection, statement) for statement in statements]


def _run_or_refuse(
    connection: sqlite3.Connection, statements: Sequence[Statement]
) -> list[list[Row]] | MemoryGatewayError:
    """Return the error of a wrong statement to its own run; a failure of the file is raised for the whole group."""
    try:
        return _run(connection, statements)
    except sqlite3.Error as error:
        if closes_connection(error):
            raise
        return mapped(error)


def _execute(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    cursor = connection.execute(statement.sql, numbered(*statement.parameters))
    if cursor.description is None:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
