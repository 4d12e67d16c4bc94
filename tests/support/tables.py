"""The tables behind the product, where no call of it shows or makes what a test is about: damage, foreign writers.

This is the one place of the tests that writes SQL over the product's tables, beside those that are about SQL itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.domain.json_types import Json, Scalar
from app.ports.database import Database, Row, Statement

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Not:
    """Any other value; ``Not(None)`` is any value."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Like:
    """Any text of this pattern."""

    pattern: str


Asked: TypeAlias = "Scalar | Not | Like"
ANY = Not(None)
TABLES_WITH = """
SELECT made.name FROM sqlite_master AS made JOIN pragma_table_info(made.name) AS col ON col.name = ?1 ->> 'column'
WHERE made.type = 'table' AND made.name NOT LIKE 'local!_%' ESCAPE '!' ORDER BY 1
"""
_AT_ONCE = 1000
"""Rows of one statement: its argument stays well below the 2 MB that a database accepts."""


Source: TypeAlias = Any
"""A bench, a service, a runtime, backends or a database: the database is looked for in it."""


async def rows_of(source: Source, table: str, *columns: str, by: str = "", **where: Asked) -> list[Row]:
    """Read the rows of a table that have these values, all columns or those named, in the order of ``by``."""
    return await _run(source, reading(table, columns, by, where), where)


async def column_of(source: Source, table: str, column: str, *, by: str = "", **where: Asked) -> list[Any]:
    """Read one column of the rows of a table that have these values, in the order of ``by``."""
    return [row[column] for row in await rows_of(source, table, column, by=by, **where)]


async def count_of(source: Source, table: str, **where: Asked) -> int:
    """Count the rows of a table that have these values."""
    ((row),) = await rows_of(source, table, "count(*) AS n", by="", **where)
    return int(row["n"] or 0)


async def set_rows(source: Source, table: str, values: Mapping[str, Any], **where: Asked) -> None:
    """Give the rows of a table that have some values others, past every rule of the product."""
    changes = ", ".join(f"{column} = ?1 ->> '$.set.{column}'" for column in values)
    await _run(source, f"UPDATE {table} SET {changes}{_where(where)}", where, set={**values})


async def shift_rows(source: Source, table: str, amounts: Mapping[str, int], **where: Asked) -> None:
    """Add to the numbers of the rows of a table that have some values."""
    changes = ", ".join(f"{column} = {column} + {amount}" for column, amount in amounts.items())
    await _run(source, f"UPDATE {table} SET {changes}{_where(where)}", where, set={})


async def delete_rows(source: Source, table: str, **where: Asked) -> None:
    """Delete the rows of a table that have these values, past every rule of the product."""
    await _run(source, deleting(table, where), where, set={})


async def insert_rows(source: Source, table: str, *rows: Mapping[str, Any]) -> None:
    """Write rows with the same columns into a table, past every rule of the product."""
    sql = inserting(table, rows[0])
    for first in range(0, len(rows), _AT_ONCE):
        chunk = [{**row} for row in rows[first : first + _AT_ONCE]]
        await database_of(source).run([Statement.write(sql, rows=chunk)])


def reading(table: str, columns: Sequence[str], by: str, where: Mapping[str, Asked]) -> str:
    """Return the statement of ``rows_of``; ``argument_of`` is what it takes."""
    order = f" ORDER BY {by}" if by else ""
    return f"SELECT {', '.join(columns) or '*'} FROM {table}{_where(where)}{order}"


def deleting(table: str, where: Mapping[str, Asked]) -> str:
    """Return the statement of ``delete_rows``; ``argument_of`` is what it takes."""
    return f"DELETE FROM {table}{_where(where)}"


def inserting(table: str, columns: Iterable[str]) -> str:
    """Return the statement that writes the ``rows`` of its argument, which have these columns."""
    columns = list(columns)
    values = ", ".join(f"value ->> '$.{column}'" for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM json_each(?1, '$.rows')"


def argument_of(where: Mapping[str, Asked]) -> dict[str, Json]:
    """Return the values of conditions, as the statements here take them."""
    return {"where": {column: _value(asked) for column, asked in where.items()}}


def _where(where: Mapping[str, Asked]) -> str:
    conditions = [_condition(column, asked) for column, asked in where.items()]
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _condition(column: str, asked: Asked) -> str:
    value = f"?1 ->> '$.where.{column}'"
    if isinstance(asked, Like):
        return f"{column} LIKE {value}"
    return f"{column} IS NOT {value}" if isinstance(asked, Not) else f"{column} IS {value}"


async def _run(source: Source, sql: str, where: Mapping[str, Asked], **changes: Json) -> list[Row]:
    argument = argument_of(where) | changes if where or changes.get("set") else None
    (rows,) = await database_of(source).run([Statement(sql, argument, writes=bool(changes))])
    return rows


def _value(asked: Asked) -> Scalar:
    if isinstance(asked, Like):
        return asked.pattern
    return asked.value if isinstance(asked, Not) else asked


def database_of(source: Source) -> Database:
    """Return the database itself, without the switches that a test may have put before it."""
    found = source
    for part in ("runtime", "backends", "database", "inner"):
        found = getattr(found, part, found)
    while hasattr(found, "inner"):
        found = found.inner
    return found  # type: ignore[no-any-return]


async def tables_with(source: Source, column: str) -> list[str]:
    """Return the tables that have a column, but not those of the index beside the database."""
    (rows,) = await database_of(source).run([Statement(TABLES_WITH, {"column": column})])
    return [str(row["name"]) for row in rows]


def at_rest(path: Path, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something with the database file of a service that does not run."""

    async def opened() -> T:
        file = SqliteFile(path)
        try:
            return await work(SqliteDatabase(file))
        finally:
            await file.close()

    return asyncio.run(opened())
