"""Opens connections to a SQLite file: with D1's limits, and patient while another process locks the file."""

import math
import time
from pathlib import Path

import apsw

_BUSY_SECONDS = 5.0
_BUSY_AGAIN_SECONDS = 0.001
WRITES_NOTHING = "PRAGMA query_only = ON"
READER = (WRITES_NOTHING, "PRAGMA cache_size = -8000", "PRAGMA temp_store = MEMORY")
"""A recall reads more pages than fit SQLite's 2 MB by default, and would copy many of them anew each time.

Rows that are sorted are kept in memory from the start, which takes less than a temporary file held ready for them.
"""

# D1's limits (https://developers.cloudflare.com/d1/platform/limits/), so that SQL which would fail
# there fails here.
_D1_LIMITS = {
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    apsw.SQLITE_LIMIT_LENGTH: 2_000_000,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    apsw.SQLITE_LIMIT_COLUMN: 100,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 32,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    # D1 allows 100. SQLite 3.54 counts the tables that a statement reads against it too, which D1's engine does not.
    # A recall needs 550; SQLite allows 1,000 at most.
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 700,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
}


def _count_no_memory() -> None:
    """Tell SQLite not to count the memory it takes: it counts under one lock for all threads, and the count is unused.

    The setting works only while SQLite is not in use (https://rogerbinns.github.io/apsw/apsw.html#apsw.config).
    """
    if not apsw.connections():
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)  # noqa: FBT003 - SQLite's argument
        apsw.initialize()


_count_no_memory()


class SqliteConnection(apsw.Connection):
    """A connection whose read may be stopped after some processor time, within SQLite and between its rows."""

    ends = math.inf
    """The time of the thread (``time.thread_time``) after which the read is stopped."""

    @property
    def is_late(self) -> bool:
        """Whether the read has taken its time."""
        return time.thread_time() > self.ends

    def stop_if_late(self) -> None:
        """Stop a read that has taken its time, as SQLite does; to be called where rows are computed with for long.

        Raises:
            apsw.InterruptError: it has.
        """
        if self.is_late:
            raise apsw.InterruptError("The read was stopped.")


def open_connection(path: Path, *pragmas: str) -> SqliteConnection:
    """Open a connection and run the pragmas on it.

    Raises:
        apsw.Error: the file cannot be opened.
    """
    connection = SqliteConnection(str(path))
    try:
        connection.set_busy_timeout(int(_BUSY_SECONDS * 1000))
        for category, limit in _D1_LIMITS.items():
            connection.limit(category, limit)
        for pragma in ("PRAGMA foreign_keys = ON", *pragmas):
            execute_patiently(connection, pragma)
    except apsw.Error:
        connection.close()
        raise
    return connection


def execute_patiently(connection: apsw.Connection, statement: str) -> None:
    """Run a pragma or begin a transaction, and retry it while another process locks the file.

    SQLite does not wait for the lock that switches a file to WAL mode (https://www.sqlite.org/wal.html,
    "Sometimes Queries Return SQLITE_BUSY"), so of several workers that start on a new file one would fail.
    """
    give_up = time.monotonic() + _BUSY_SECONDS
    done = False
    while not done:
        try:
            connection.execute(statement)
            done = True
        except apsw.BusyError:
            if time.monotonic() >= give_up:
                raise
            time.sleep(_BUSY_AGAIN_SECONDS)
