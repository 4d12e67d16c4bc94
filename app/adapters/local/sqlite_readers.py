"""Threads that read a SQLite file for all tenants, so that a tenant's slow reads delay no other tenant's (ADR 0020)."""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from app.adapters.local.sqlite_connection import SqliteConnection
from app.adapters.local.sqlite_errors import closes_connection, interrupted, too_slow
from app.adapters.local.sqlite_jobs import Job, tell
from app.adapters.local.work_queue import WorkQueue

_Taken = tuple[str, Job[Any]]

_HELP_AFTER_SECONDS = 0.01
"""After the first thread has been at one read for this long, the helper takes the reads that wait."""
_GROUP = 16
_GROUP_SECONDS = 0.005
"""For how long reads that came together share a snapshot and a wake-up; the others come first in the next group."""
_TURN_SECONDS = 0.02
"""The processor time after which a read is stopped and made again by the thread of slow reads, one at a time."""
_LOOK_EVERY = 100_000
"""Instructions of SQLite's virtual machine between two looks at the clock: about a millisecond."""


class Readers:
    """Makes reads by turns of the tenants. A tenant with a slow read has its reads made beside those of the others.

    One thread makes the reads, and a helper makes those that wait while the first is at a long read. Two threads at all
    times take a seventh more of the processor for each read: SQLite returns row by row, and for each row a thread takes
    the interpreter's lock again.
    """

    def __init__(self, open_connection: Callable[[], SqliteConnection], check: Callable[[], None]) -> None:
        """Start the threads; the first read opens a connection. ``check`` raises where the file is gone."""
        self._open = open_connection
        self._check = check
        self._idle: deque[SqliteConnection] = deque()
        self._generation = 0
        self._quick: WorkQueue[Job[Any]] = WorkQueue()
        self._slow: WorkQueue[Job[Any]] = WorkQueue()
        self._slow_of: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._read_began: float | None = None
        """When the first thread began its current read; None between reads."""
        self._waits = threading.Event()
        """Set for the helper when a read may have to wait."""
        self._threads = [
            threading.Thread(target=self._serve_quick, name="sqlite-read", daemon=True),
            threading.Thread(target=self._serve_as_help, name="sqlite-read-help", daemon=True),
            threading.Thread(target=self._serve_slow, name="sqlite-read-slow", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds a quick read of the tenant waits, as ``TenantTurns.lag`` says."""
        return self._quick.lag(tenant_id)

    def read(self, tenant_id: str, job: Job[Any]) -> None:
        """Let a read wait for its tenant's turn."""
        self._quick.put(tenant_id, job)
        self._call_help()

    def renew(self) -> None:
        """Close the connections; those in use are closed when they are returned.

        SQLite opens the -shm file once for all connections of a process: as long as a connection is left that found it
        read-only, none can write.
        """
        self._generation += 1
        while (connection := self._idle_connection()) is not None:
            connection.close(force=True)

    def close(self) -> None:
        """Finish the reads that wait, and end the threads."""
        self._quick.close()
        self._waits.set()
        for thread in self._threads[:-1]:
            thread.join()
        self._slow.close()
        self._threads[-1].join()
        self.renew()

    def _serve_quick(self) -> None:
        while taken := self._quick.take(_GROUP):
            self._read_began = time.monotonic()
            self._call_help()  # for reads that have come since
            self._serve(taken, first=True)
            self._read_began = None

    def _serve_as_help(self) -> None:
        while not self._quick.closed:
            self._waits.wait()
            self._waits.clear()
            began = self._read_began
            if began is None:
                continue
            time.sleep(max(0.0, began + _HELP_AFTER_SECONDS - time.monotonic()))
            while self._read_began == began and (taken := self._quick.take_at_once(_GROUP)):
                self._serve(taken)
            self._call_help()  # the first thread may be at another read, which may be a long one too
        while taken := self._quick.take_at_once(_GROUP):  # the first thread may have ended before these were put back
            self._serve(taken)

    def _call_help(self) -> None:
        """Wake the helper if reads wait while the first thread is at a read."""
        if self._read_began is not None and self._quick:
            self._waits.set()

    def _serve(self, taken: Sequence[_Taken], *, first: bool = False) -> None:
        """Make reads, as the first thread or as its helper; put back those not reached, and hand on slow ones."""
        left: list[_Taken] = []
        slow: list[_Taken] = []
        try:
            with self._snapshot() as connection:
                self._group(connection, taken, left, slow, first=first)
        except Exception as error:  # noqa: BLE001 - those that it concerns get it; the thread goes on
            waiting = {id(job) for _, job in (*left, *slow)}
            _fail([job for _, job in taken if id(job) not in waiting], error)
        tell([job for _, job in taken if job.finished])
        for tenant_id, job in slow:
            self._slow.put(tenant_id, job)
        if left:
            self._quick.put_first(left)

    def _serve_slow(self) -> None:
        while taken := self._slow.take(1):
            ((tenant_id, job),) = taken
            try:
                with self._snapshot() as connection:
                    if not job.future.done() and not _attempt(connection, job, job.seconds):
                        job.fail(too_slow())
            except Exception as error:  # noqa: BLE001 - the caller gets it; the thread goes on
                _fail([job], error)
            with self._lock:
                self._slow_of[tenant_id] -= 1
                self._slow_of += Counter()  # forgets tenants that have no slow read left
            tell([job])

    def _group(
        self,
        connection: SqliteConnection,
        taken: Sequence[_Taken],
        left: list[_Taken],
        slow: list[_Taken],
        *,
        first: bool,
    ) -> None:
        """Make reads of one snapshot within their time; add those not reached to ``left``, slow reads to ``slow``.

        A failure of the file is raised. Those behind the read that met it are not reached: what is damaged may be of
        one tenant alone.
        """
        ends = time.thread_time() + _GROUP_SECONDS
        for number, (tenant_id, job) in enumerate(taken):
            if number and time.thread_time() > ends:
                left += taken[number:]
                return
            if job.future.done():  # the caller was cancelled
                continue
            if first:
                self._read_began = time.monotonic()
            seconds = _TURN_SECONDS if job.seconds is None else min(job.seconds, _TURN_SECONDS)
            try:
                is_slow = self._is_slow(tenant_id) or not _attempt(connection, job, seconds)
            except Exception:
                left += taken[number + 1 :]
                raise
            if is_slow:
                with self._lock:
                    self._slow_of[tenant_id] += 1
                slow.append((tenant_id, job))

    def _is_slow(self, tenant_id: str) -> bool:
        """Tell whether a tenant has slow reads; the service's own work is not one tenant's."""
        with self._lock:
            return bool(tenant_id) and self._slow_of[tenant_id] > 0

    @contextmanager
    def _snapshot(self) -> Iterator[SqliteConnection]:
        """Give a connection that sees one moment of the data; it is closed where the file has failed."""
        self._check()
        generation = self._generation
        connection = self._idle_connection() or self._open()
        failed = False
        try:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except Exception as error:
            failed = closes_connection(error)
            raise
        finally:
            if failed or generation != self._generation:
                connection.close(force=True)
            else:
                self._idle.append(connection)

    def _idle_connection(self) -> SqliteConnection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None


def _attempt(connection: SqliteConnection, job: Job[Any], seconds: float | None) -> bool:
    """Make a read within ``seconds`` of processor time. Return whether it is finished, as a failed read is too.

    A failure of the file is raised.
    """
    if seconds is not None:
        connection.ends = time.thread_time() + seconds  # of this thread: that of other threads does not count
        connection.set_progress_handler(lambda: connection.is_late, _LOOK_EVERY)
    try:
        job.do(connection)
        job.finished = True
    except apsw.Error as error:
        if interrupted(error):
            return False
        if closes_connection(error):
            raise
        job.fail(error)
    except Exception as error:  # noqa: BLE001 - the caller gets it
        job.fail(error)
    finally:
        connection.set_progress_handler(None)
        connection.ends = math.inf
    return True


def _fail(jobs: Sequence[Job[Any]], error: Exception) -> None:
    """Fail all reads that a failure of the file kept from being made."""
    for job in jobs:
        if not job.finished:
            job.fail(error)
