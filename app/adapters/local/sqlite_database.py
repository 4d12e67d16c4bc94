"""The ``Database`` port on a SQLite file."""

import sqlite3
import time
from collections.abc import Sequence

from app.adapters.local.coalescer import Coalescer
from app.adapters.local.sqlite_errors import closes_connection, mapped
from app.adapters.local.sqlite_file import SqliteFile, numbered
from app.domain.errors import MemoryGatewayError
from app.ports.database import Row, Statement

_READ_SECONDS = 2.0
_LOOK_EVERY = 100_000
"""Instructions of SQLite's virtual machine between two looks at the clock: about a millisecond."""


class SqliteDatabase:
    """Runs D1's dialect on stdlib sqlite3, with D1's limits. Implements ``app.ports.database.Database``.

    Concurrent runs that only read share a thread hop and a snapshot; concurrent runs that write share a commit.
    """

    backend = "sqlite"
    history_days = 0

    def __init__(self, file: SqliteFile, *, read_seconds: float = _READ_SECONDS) -> None:
        """Use a file that the caller opens and closes; a run that only reads may take so much of a processor."""
        self._file = file
        self._read_seconds = read_seconds
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
        return await self._file.read(
            lambda connection: [_run_or_refuse(connection, run, self._read_seconds) for run in runs]
        )


def _run(connection: sqlite3.Connection, statements: Sequence[Statement]) -> list[list[Row]]:
    return [_execute(connection, statement) for statement in statements]


def _run_or_refuse(
    connection: sqlite3.Connection, statements: Sequence[Statement], seconds: float
) -> list[list[Row]] | MemoryGatewayError:
    """Return the error of a run that is wrong or too slow to that run; a failure of the file is raised for all runs."""
    ends = time.thread_time() + seconds  # of this thread: what others do on a busy machine does not count
    connection.set_progress_handler(lambda: time.thread_time() > ends, _LOOK_EVERY)
    try:
        return _run(connection, statements)
    except sqlite3.Error as error:
        if closes_connection(error):
            raise
        return mapped(error)
    finally:
        connection.set_progress_handler(None, 0)


def _execute(connection: sqlite3.Connection, statement: Statement) -> list[Row]:
    cursor = connection.execute(statement.sql, numbered(*statement.parameters))
    if cursor.description is None:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
