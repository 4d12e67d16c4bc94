"""Runs work on one SQLite file, which the local adapters share: a writer thread with group commit, reader threads.

An operation costs one thread hop. Commits are durable (WAL, synchronous=FULL): the writes that wait while one commit
reaches the disk go into the next, so that many writers share one fsync.
"""

import asyncio
import os
import sqlite3
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

from app.adapters.local.sqlite_errors import closes_connection, mapped, read_only
from app.domain.errors import DatabaseUnavailable

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_OVERWRITES = "PRAGMA secure_delete = ON"
"""What is deleted is overwritten in the file, not only marked as free."""
_MAX_GROUP = 64
_BUSY_SECONDS = 5.0
_BUSY_AGAIN_SECONDS = 0.005
_OF_OTHERS = 0o077

# What D1 allows (https://developers.cloudflare.com/d1/platform/limits/), so that SQL which would fail
# there fails here.
_D1_LIMITS = {
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 100,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}


@dataclass(slots=True)
class _Job(Generic[T]):
    """A write that waits for its commit."""

    work: Work[T]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[T]"
    result: T | None = None
    error: Exception | None = None
    committed: bool = False

    def resolve(self) -> None:
        if self.future.done():  # the caller was cancelled
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(T, self.result))


class SqliteFile:
    """Access to one database file from any number of processes.

    Connections are opened when first needed and dropped after an I/O error, so that the service
    recovers by itself once a full disk or a lost permission is over.
    """

    def __init__(self, path: Path, *, readers: int = 2) -> None:
        """Start the threads; the first operation opens the file, and creates it where it is absent."""
        self.path = path
        self._readers = ThreadPoolExecutor(max_workers=readers, thread_name_prefix="sqlite-read")
        self._idle: deque[sqlite3.Connection] = deque()
        self._generation = 0
        self._closed = False
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write_forever, name="sqlite-write", daemon=True)
        self._writer.start()

    async def read(self, work: Work[T]) -> T:
        """Run ``work`` on one consistent snapshot of the data; a write in it is refused.

        Raises:
            DatabaseUnavailable, DatabaseRejected: see ``app.ports.database``.
        """
        self._check_open()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    async def write(self, work: Work[T]) -> T:
        """Run ``work`` in a transaction and return once it is on the disk; if it raises, nothing is written.

        Raises:
            DatabaseUnavailable, DatabaseRejected: see ``app.ports.database``.
        """
        self._check_open()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, loop, future))
        return await future

    async def close(self) -> None:
        """Finish the operations under way and close the file."""
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._readers.shutdown)
        self._renew_readers()

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("The database file is closed.")

    def _read(self, work: Work[T]) -> T:
        generation = self._generation
        connection: sqlite3.Connection | None = None
        try:
            connection = self._idle_reader() or _open(self.path, "PRAGMA query_only = ON")
            connection.execute("BEGIN")
            try:
                result = work(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            if connection is not None and closes_connection(error):
                connection.close()
                connection = None
            raise mapped(error) from error
        finally:
            if connection is not None:
                self._give_back(connection, generation)
        return result

    def _idle_reader(self) -> sqlite3.Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _give_back(self, connection: sqlite3.Connection, generation: int) -> None:
        if generation == self._generation:
            self._idle.append(connection)
        else:
            connection.close()

    def _renew_readers(self) -> None:
        """Close the readers' connections; those in use are closed when they are returned.

        SQLite opens the -shm file once for all connections of a process: as long as one is left that found
        it read-only, none can write.
        """
        self._generation += 1
        while (connection := self._idle_reader()) is not None:
            connection.close()

    def _write_forever(self) -> None:
        connection: sqlite3.Connection | None = None
        while (first := self._jobs.get()) is not None:
            group = [first]
            stop = False
            while len(group) < _MAX_GROUP and not stop:
                try:
                    following = self._jobs.get_nowait()
                except Empty:
                    break
                stop = following is None
                if following is not None:
                    group.append(following)
            connection = self._write_group(connection, group)
            for loop in {job.loop for job in group}:
                loop.call_soon_threadsafe(_resolve, [job for job in group if job.loop is loop])
            if stop:
                break
        if connection is not None:
            connection.close()

    def _write_group(self, connection: sqlite3.Connection | None, group: list[_Job[Any]]) -> sqlite3.Connection | None:
        """Commit the jobs together; one that fails is left out, and the others are made without it.

        Return the connection to continue with.
        """
        try:
            if connection is None:
                connection = _open(self.path, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", _OVERWRITES)
            waiting = list(group)
            while waiting and not _commit(connection, waiting):
                waiting = [job for job in waiting if job.error is None]
        except sqlite3.Error as error:
            for job in group:
                if not job.committed and job.error is None:
                    job.error = mapped(error)
            if read_only(error):
                self._renew_readers()
            return _after_failure(connection, error)
        return connection


def _commit(connection: sqlite3.Connection, jobs: list[_Job[Any]]) -> bool:
    """Run the jobs in one transaction. Return whether it was committed; a failure of the file is raised."""
    job = jobs[0]
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            job.result = job.work(connection)
        connection.execute("COMMIT")
    except Exception as error:
        if isinstance(error, sqlite3.Error) and closes_connection(error):
            raise
        job.error = mapped(error) if isinstance(error, sqlite3.Error) else error
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return False
    for job in jobs:
        job.committed = True
    return True


def _after_failure(connection: sqlite3.Connection | None, error: sqlite3.Error) -> sqlite3.Connection | None:
    """Close the connection if the file may have failed, else roll back the transaction."""
    if connection is None:
        return None
    if closes_connection(error):
        connection.close()
        return None
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    return connection


def numbered(*values: str | bytes) -> dict[str, str | bytes]:
    """Return the values of ``?1``, ``?2``, ... for sqlite3, which treats numbered placeholders as named."""
    return {str(number): value for number, value in enumerate(values, start=1)}


def _resolve(jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        job.resolve()


def open_to_others(path: Path) -> list[str]:
    """Return which of a database's folder and files other users of this machine can reach, with their modes."""
    names = [path.parent, *(path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))]
    modes = {name: mode for name in names if (mode := _mode(name)) is not None}
    return [f"{name} ({mode:04o})" for name, mode in modes.items() if mode & _OF_OTHERS]


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:  # it is not there, or SQLite says why it cannot be reached
        return None


def _open(path: Path, *pragmas: str) -> sqlite3.Connection:
    _make(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        for category, limit in _D1_LIMITS.items():
            connection.setlimit(category, limit)
        for pragma in ("PRAGMA foreign_keys = ON", *pragmas):
            _execute_patiently(connection, pragma)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _make(path: Path) -> None:
    """Make the file, where it is absent, for this user alone; SQLite gives the files beside it the same mode."""
    if path.name == ":memory:":  # SQLite's name for no file
        return
    with suppress(OSError):  # it is there, or SQLite says why it cannot be
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _execute_patiently(connection: sqlite3.Connection, pragma: str) -> None:
    """Run a pragma, and retry it while another process locks the file.

    SQLite does not wait for the lock that switches a file to WAL mode (https://www.sqlite.org/wal.html,
    "Sometimes Queries Return SQLITE_BUSY"), so of several workers that start on a new file one would fail.
    """
    give_up = time.monotonic() + _BUSY_SECONDS
    done = False
    while not done:
        try:
            connection.execute(pragma)
            done = True
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
            time.sleep(_BUSY_AGAIN_SECONDS)
