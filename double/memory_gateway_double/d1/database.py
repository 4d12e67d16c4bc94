"""One D1 database: real SQLite, one query at a time, with D1's limits.

https://developers.cloudflare.com/d1/platform/limits/
"""

import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_gateway_double.clock import Clock
from memory_gateway_double.d1.date_functions import DateFunctions
from memory_gateway_double.d1.guard import Guard
from memory_gateway_double.d1.statements import Bound, sql_error
from memory_gateway_double.wire import ConnectionCut, Refusal

_LIMITS = {
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,  # the length is checked before parameters are numbered
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    # SQLite 3.54 counts the tables that a statement reads against this too, which D1's engine does not.
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100 if sqlite3.sqlite_version_info < (3, 54) else 700,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_SECONDS = 30.0
"""How long a call may take, by the double's clock."""
_STEPS_BETWEEN_CHECKS = 100_000
_PRIMARY_PARTS = 2
_UNNAMED = {3091: "SQLITE_CONSTRAINT_DATATYPE"}
"""Codes that Python's sqlite3 has no name for."""

# Each ends with a comment, so that nobody finds it in sqlite3's cache of compiled statements.
_BEGIN, _COMMIT, _ROLLBACK = "BEGIN -- double", "COMMIT -- double", "ROLLBACK -- double"
_SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size -- double"
_TABLES = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' -- double"


@dataclass(frozen=True, slots=True)
class Result:
    """What one statement gave: columns and rows as SQLite has them, and ``meta``."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    meta: dict[str, Any]


class Database:
    """A SQLite database that runs in a thread of its own, so that its queries queue as D1's do."""

    def __init__(
        self, uuid: str, name: str, created_at: str, path: Path | None, clock: Clock, jurisdiction: str | None = None
    ) -> None:
        """Open the file, or memory."""
        self.uuid = uuid
        self.name = name
        self.created_at = created_at
        self.jurisdiction = jurisdiction
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="double-d1")
        self._path = path
        self._clock = clock
        self._deadline = 0.0
        self._guard = Guard()
        self._dates = DateFunctions(clock)
        self._connection = self._open()

    def run(self, statements: Sequence[Bound], *, atomic: bool, stop_after: int | None) -> list[Result]:
        """Run the statements in order, in its thread; atomic: as one transaction, else each as its own.

        Raises:
            Refusal: a statement failed.
            ConnectionCut: it was told to stop after some statements; what they did is kept.
        """
        self._deadline = self._clock.now() + _SECONDS
        if stop_after is not None:
            for statement in statements[:stop_after]:
                self._transaction([statement])
            raise ConnectionCut
        try:
            if atomic:
                return self._transaction(statements)
            return [result for statement in statements for result in self._transaction([statement])]
        finally:
            for pragma in self._guard.resets():
                self._own(pragma)

    def load(self, image: bytes) -> None:
        """Become a copy of the SQLite database whose file these bytes are."""
        with closing(sqlite3.connect(":memory:")) as source:
            source.deserialize(image)
            source.backup(self._connection)

    def size(self) -> int:
        """Return the size in bytes."""
        return int(self._own(_SIZE)[0][0])

    def tables(self) -> int:
        """Return how many tables there are."""
        return int(self._own(_TABLES)[0][0])

    def close(self) -> None:
        """Finish what runs and close the file."""
        self.thread.shutdown()
        self._connection.close()
        self._dates.close()

    def delete(self) -> None:
        """Close and remove the file."""
        self.close()
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path or ":memory:", isolation_level=None, check_same_thread=False, cached_statements=512
        )
        connection.text_factory = _text
        connection.execute("PRAGMA foreign_keys = ON")
        if self._path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        for category, limit in _LIMITS.items():
            connection.setlimit(category, limit)
        self._dates.install(connection)
        connection.set_authorizer(self._guard)
        connection.set_progress_handler(self._is_late, _STEPS_BETWEEN_CHECKS)
        return connection

    def _is_late(self) -> bool:
        return self._clock.now() > self._deadline

    def _own(self, sql: str) -> list[tuple[Any, ...]]:
        self._guard.own = True
        try:
            return self._connection.execute(sql).fetchall()
        finally:
            self._guard.own = False

    def _transaction(self, statements: Sequence[Bound]) -> list[Result]:
        self._own(_BEGIN)
        try:
            results = [self._execute(statement) for statement in statements]
            self._own(_COMMIT)
        except sqlite3.Error as error:
            self._undo()
            raise self._refusal(error, statements) from error
        except BaseException:
            self._undo()
            raise
        return results

    def _undo(self) -> None:
        if self._connection.in_transaction:
            self._own(_ROLLBACK)

    def _execute(self, statement: Bound) -> Result:
        self._guard.own = False
        self._dates.begin_statement()
        before = self._connection.total_changes
        started = time.perf_counter()
        cursor = self._connection.execute(statement.sql, statement.values)
        rows = cursor.fetchall()
        milliseconds = round((time.perf_counter() - started) * 1000, 4)
        changes = self._connection.total_changes - before
        columns = [column[0] for column in cursor.description or ()]
        return Result(columns, rows, self._meta(milliseconds, changes, cursor.lastrowid or 0, len(rows)))

    def _meta(self, milliseconds: float, changes: int, last_row_id: int, rows: int) -> dict[str, Any]:
        return {
            "served_by": "double",
            "served_by_region": "WEUR",
            "served_by_colo": "AMS",
            "served_by_primary": True,
            "timings": {"sql_duration_ms": milliseconds},
            "duration": milliseconds,
            "changes": changes,
            "last_row_id": last_row_id,
            "changed_db": changes > 0,
            "size_after": self.size(),
            "rows_read": rows,
            "rows_written": changes,
        }

    def _refusal(self, error: sqlite3.Error, statements: Sequence[Bound]) -> Refusal:
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        name = _UNNAMED.get(getattr(error, "sqlite_errorcode", 0), name)
        if name == "SQLITE_INTERRUPT":
            return sql_error("D1 DB storage operation exceeded timeout which caused object to be reset.", 500)
        primary = "_".join(name.split("_")[:_PRIMARY_PARTS])
        message = f"{_with_offset(str(error), statements)}: {primary}"
        return sql_error(message if name == primary else f"{message} (extended: {name})")


def _with_offset(message: str, statements: Sequence[Bound]) -> str:
    """Say where a syntax error is, as D1 does; sqlite3 does not tell, so the first place of the word is taken."""
    if message.startswith('near "') and message.endswith('": syntax error'):
        word = message.removeprefix('near "').removesuffix('": syntax error')
        offset = next((at for statement in statements if (at := statement.sql.find(word)) >= 0), 0)
        return f"{message} at offset {offset}"
    return message


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
