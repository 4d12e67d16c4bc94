"""A SQLite file that lives in memory and is used without threads, on the simulation's clock."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw

from app.adapters.local.sqlite_connection import open_connection
from app.adapters.local.sqlite_errors import mapped
from app.adapters.local.sqlite_file import SqliteFile, T
from app.adapters.local.sqlite_jobs import Work
from app.domain.json_types import Scalar, to_json
from tests.support.tables import TABLES_WITH, Asked, argument_of, deleting, inserting, reading

_UNIX_EPOCH = 2_440_587.5
_DAY_MS = 86_400_000


class InlineFile(SqliteFile):
    """What ``SqliteFile`` does, with D1's limits, done at once on one connection: no thread, no wait."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """Begin empty; SQL's ``julianday('now')`` tells ``clock``, in milliseconds since the epoch.

        It is declared deterministic so that SQLite asks it once for a statement, as it does its own.
        """
        self.path = Path(":memory:")
        self.ahead_ms = 0
        """By how much the database's clock is ahead."""
        self.connection = open_connection(self.path)
        self.connection.create_scalar_function(
            "julianday", _julian_day(lambda: clock() + self.ahead_ms), deterministic=True
        )

    async def read(self, work: Work[T], tenant_id: str = "", *, seconds: float | None = None) -> T:
        del tenant_id, seconds
        return self._run(work, "BEGIN", "ROLLBACK")

    async def write(self, work: Work[T], tenant_id: str = "") -> T:
        del tenant_id
        return self._run(work, "BEGIN IMMEDIATE", "COMMIT")

    async def close(self) -> None:
        self.connection.close()

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Look, past every port, at what is there now."""
        return self.connection.execute(sql).fetchall()

    def rows_of(self, table: str, *columns: str, by: str = "", **where: Asked) -> list[tuple[Any, ...]]:
        """Look at the rows of a table that have these values, as ``tests.support.tables.rows_of`` does."""
        argument = (to_json(argument_of(where)),) if where else ()
        return self.connection.execute(reading(table, columns, by, where), argument).fetchall()

    def column_of(self, table: str, column: str, *, by: str = "", **where: Asked) -> list[Any]:
        """Look at one column of the rows of a table that have these values."""
        return [value for (value,) in self.rows_of(table, column, by=by, **where)]

    def tables_with(self, column: str) -> set[str]:
        """Return the tables that have a column."""
        return {name for (name,) in self.connection.execute(TABLES_WITH, (to_json({"column": column}),))}

    def delete_rows(self, table: str, **where: Asked) -> None:
        """Delete rows of a table past every port, as ``tests.support.tables.delete_rows`` does."""
        self.connection.execute(deleting(table, where), (to_json(argument_of(where)),))

    def insert_row(self, table: str, row: Mapping[str, Scalar]) -> None:
        """Write a row into a table past every port."""
        self.connection.execute(inserting(table, row), (to_json({"rows": [{**row}]}),))

    def _run(self, work: Work[T], begin: str, end: str) -> T:
        try:
            self.connection.execute(begin)
            result = work(self.connection)
            self.connection.execute(end)
        except apsw.Error as error:
            raise mapped(error) from error
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        return result


def _julian_day(clock: Callable[[], int]) -> Callable[..., float]:
    def julian_day(*moment: str) -> float:
        if moment != ("now",):
            raise ValueError("The simulation knows julianday('now') alone.")
        return _UNIX_EPOCH + (clock() + 0.5) / _DAY_MS  # half a millisecond: a double this large is exact to 0.04

    return julian_day
