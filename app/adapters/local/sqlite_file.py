"""Runs work on one SQLite file, which the local adapters share: a writer thread with group commit, reader threads.

An operation costs one thread hop, and tenants take turns. Commits are durable (WAL, synchronous=FULL): the writes that
wait while one commit reaches the disk go into the next, so that many writers share one fsync.
"""

import asyncio
import shutil
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import apsw

from app.adapters.local.database_place import DatabasePlace
from app.adapters.local.file_version import FileVersion
from app.adapters.local.sqlite_connection import (
    READER,
    WRITES_NOTHING,
    SqliteConnection,
    execute_patiently,
    open_connection,
)
from app.adapters.local.sqlite_errors import closes_connection, mapped, read_only
from app.adapters.local.sqlite_jobs import Job, Work, tell
from app.adapters.local.sqlite_readers import Readers
from app.adapters.local.work_queue import WorkQueue
from app.domain.errors import ConfigurationError, DatabaseUnavailable, StorageFull
from app.ports.database import RunRefused

T = TypeVar("T")

_MAX_GROUP = 64
_GROUP_SECONDS = 0.02
"""The processor time after which writes are committed, and writes not reached come first in the next group."""
_OVERWRITES = "PRAGMA secure_delete = ON"
"""Deleted data is overwritten in the file, not only marked as free."""
_OWN_PATIENCE = "PRAGMA busy_timeout = 0"
"""SQLite's own wait for another process's commit is off: it sleeps for up to 100 ms at a time, so often comes last."""
_WRITER = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", _OVERWRITES, _OWN_PATIENCE)
_BULK = ("PRAGMA wal_autocheckpoint = 16000", "PRAGMA cache_size = -16000")
"""A page that many commits change is written into the log with each, and into the file with each checkpoint: with 64 MB
of log there are fewer checkpoints than with 4 MB. The cache has room for the pages that a commit changes: otherwise
they are written twice.
"""
_UNDOES_IN_MEMORY = "PRAGMA temp_store = MEMORY"
"""Without this, a statement that changes more than 64 kB, as in an import, writes its undo data to a temporary file.

A tenant's statements are bounded. A migration's are not, and may change or sort whole tables: it comes before those.
"""
_CUT_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
_PURGE_MS = 300
"""For how long a purge waits for reads that see the log; writes wait meanwhile."""
_ROOM_BYTES = 1024 * 1024
"""Free bytes of the disk with which a write should succeed: some stores, and the files that SQLite writes beside."""
_SMALL_WRITE = "PRAGMA user_version = 1"
"""Writes one page of the file, whatever the value was before; the value is never read."""


class SqliteFile:
    """Access to one database file from any number of processes.

    Connections are opened when first needed and dropped after an I/O error, so that the service
    recovers by itself once a full disk or a lost permission is over.
    """

    def __init__(self, path: Path, *, bulk: bool = False) -> None:
        """Start the threads; the first operation opens the file, and creates it where it is absent.

        ``bulk``: for a command that may write much, and for which no request waits.

        Raises:
            ConfigurationError: the path is not UTF-8, which SQLite cannot open.
        """
        try:
            str(path).encode()
        except UnicodeEncodeError as error:
            raise ConfigurationError(f"SQLite opens no path that is not UTF-8: {str(path)!r}.") from error
        self.path = path
        self._pragmas = (*_WRITER, *(_BULK if bulk else ()))
        self._undoes_in_memory = False
        self._closed = False
        self._place = DatabasePlace(path)
        self._readers = Readers(lambda: open_connection(path, *READER), self._place.check)
        # Without the size of its cache, its connection never reads the schema, which takes 5 ms.
        self.version = FileVersion(lambda: open_connection(path, WRITES_NOTHING), self._place.check)
        """The version of the data, which tells without a thread whether anybody has written."""
        self._writes: WorkQueue[Job[Any]] = WorkQueue()
        self._writer = threading.Thread(target=self._write_forever, name="sqlite-write", daemon=True)
        self._writer.start()

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds a read or a write of the tenant waits, whichever is more."""
        return max(self._readers.lag(tenant_id), self._writes.lag(tenant_id))

    async def read(self, work: Work[T], tenant_id: str = "", *, seconds: float | None = None) -> T:
        """Run ``work`` on one consistent snapshot of the data; a write in it is refused.

        Work that takes long is stopped and begun again; then it may take ``seconds`` of a processor; None: any.

        Raises:
            DatabaseUnavailable, DatabaseRejected: see ``app.ports.database``.
        """
        self._check_open()
        job: Job[T] = Job(work, asyncio.get_running_loop().create_future(), seconds)
        self._readers.read(tenant_id, job)
        return await job.future

    def read_latest(self, work: Work[T]) -> T:
        """Run ``work`` at once, in this thread, on the latest data: for a read that is on an older snapshot.

        Raises:
            DatabaseUnavailable, DatabaseRejected: see ``app.ports.database``.
        """
        try:
            self._place.check()
            with closing(open_connection(self.path, *READER)) as connection:
                return work(connection)
        except apsw.Error as error:
            raise mapped(error) from error

    async def write(self, work: Work[T], tenant_id: str = "") -> T:
        """Run ``work`` in a transaction and return once it is on the disk; if it raises, nothing is written.

        Raises:
            DatabaseUnavailable, DatabaseRejected: see ``app.ports.database``.
        """
        self._check_open()
        job: Job[T] = Job(work, asyncio.get_running_loop().create_future())
        self._writes.put(tenant_id, job)
        return await job.future

    async def check_room(self) -> None:
        """Return if a write can reach the disk, which a small write shows.

        Raises:
            StorageFull: there is next to no room left, or the write found no room.
            DatabaseUnavailable: the file cannot be written.
        """
        try:
            free = shutil.disk_usage(self.path.parent).free
        except OSError:  # the write says why the folder cannot be reached
            free = _ROOM_BYTES
        if free < _ROOM_BYTES:  # a small write may still fit into the log that there is
            raise StorageFull(f"The data cannot be written: the disk has {free} bytes left.")
        await self.write(lambda connection: connection.execute(_SMALL_WRITE))

    async def purge_log(self) -> bool:
        """Write the log into the file and cut the log off, so that it keeps no deleted data.

        Returns whether the log was cut off: False while a read still uses it, or another process writes.

        Raises:
            DatabaseUnavailable: the file cannot be written.
        """
        return not self._has_log() or await asyncio.to_thread(self._purge_log)

    async def stored_bytes(self) -> int:
        """Return the size of the data in the file; the room of deleted data is used again, and does not count.

        Raises:
            DatabaseUnavailable: the file cannot be read.
        """

        def used(connection: SqliteConnection) -> int:
            pages, free, size = (
                int(connection.execute(f"PRAGMA {name}").get) for name in ("page_count", "freelist_count", "page_size")
            )
            return (pages - free) * size

        return await self.read(used)

    async def close(self) -> None:
        """Finish the operations under way and close the file."""
        self._closed = True
        self._writes.close()
        await asyncio.to_thread(self._writer.join)
        await asyncio.to_thread(self._readers.close)
        self.version.close()

    def _has_log(self) -> bool:
        return self.path.with_name(f"{self.path.name}-wal").exists()

    def _purge_log(self) -> bool:
        try:
            self._place.check()
            with closing(open_connection(self.path, _OVERWRITES)) as connection:
                connection.set_busy_timeout(_PURGE_MS)
                ((in_use, _, _),) = connection.execute(_CUT_LOG)
        except apsw.BusyError:
            return False
        except apsw.Error as error:
            raise mapped(error) from error
        return not in_use

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("The database file is closed.")

    def _write_forever(self) -> None:
        connection: SqliteConnection | None = None
        while taken := self._writes.take(_MAX_GROUP):
            connection = self._write_group(
                connection, [job for _, job in taken], of_tenants=any(tenant for tenant, _ in taken)
            )
            tell([job for _, job in taken if job.finished])
            if left := [each for each in taken if not each[1].finished]:
                self._writes.put_first(left)
        if connection is not None:
            connection.close()

    def _write_group(
        self, connection: SqliteConnection | None, group: list[Job[Any]], *, of_tenants: bool
    ) -> SqliteConnection | None:
        """Commit the jobs together; a job that fails is left out, and the others are made without it.

        Return the connection to continue with. Jobs that are not finished have not been reached. ``of_tenants``: at
        least one of the jobs is a tenant's.
        """
        try:
            self._place.check()
            if connection is None:
                connection = open_connection(self.path, *self._pragmas)
                self._undoes_in_memory = False
            if of_tenants and not self._undoes_in_memory:
                connection.execute(_UNDOES_IN_MEMORY)
                self._undoes_in_memory = True
            waiting = list(group)
            while waiting and not _commit(connection, waiting):
                waiting = [job for job in waiting if not job.finished]
        except Exception as error:  # noqa: BLE001 - every caller gets it; the thread goes on
            self._fail(group, error)
            if connection is not None:
                connection.close(force=True)  # its errors are of no use now
            return None
        return connection

    def _fail(self, group: list[Job[Any]], error: Exception) -> None:
        for job in group:
            if not job.finished:
                job.fail(error)
        if read_only(error):
            self._readers.renew()
            self.version.close()


def _commit(connection: SqliteConnection, jobs: list[Job[Any]]) -> bool:
    """Run the jobs in one transaction, as many as its time allows. Return whether it was committed.

    A failure of the file is raised.
    """
    job = jobs[0]
    ends = time.thread_time() + _GROUP_SECONDS
    reached = 0
    is_made = False
    try:
        execute_patiently(connection, "BEGIN IMMEDIATE")
        for job in jobs:
            _do(connection, job)
            reached += 1
            if time.thread_time() > ends:
                break
        is_made = True
        connection.execute("COMMIT")
    except Exception as error:
        if isinstance(error, apsw.Error) and closes_connection(error):
            raise
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if is_made and reached > 1:  # FTS5 writes its blocks now, and does not tell which job's words failed
            for each in jobs[:reached]:
                _commit(connection, [each])
        else:
            job.fail(error)
        return False
    for job in jobs[:reached]:
        job.finished = True
    return True


def _do(connection: SqliteConnection, job: Job[Any]) -> None:
    """Run a job. A job that a trigger refused before it changed anything does not undo the others."""
    before = connection.total_changes()
    try:
        job.do(connection)
    except apsw.Error as error:
        refused = isinstance(mapped(error), RunRefused)
        if not (refused and connection.in_transaction and connection.total_changes() == before):
            raise
        job.fail(error)
