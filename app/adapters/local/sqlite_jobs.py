"""Work on a SQLite file that a coroutine waits for and a thread does."""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from app.adapters.local.sqlite_connection import SqliteConnection
from app.adapters.local.sqlite_errors import mapped

T = TypeVar("T")
Work = Callable[[SqliteConnection], T]


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """A piece of work; the thread that does it leaves the result or the error, and then says that it is finished."""

    work: Work[T]
    future: "asyncio.Future[T]"
    """The future that the caller awaits in its loop."""
    seconds: float | None = None
    """The processor time that a read may take; None: any."""
    result: T | None = None
    error: Exception | None = None
    finished: bool = False

    def do(self, connection: SqliteConnection) -> None:
        """Do the work, and keep its result."""
        self.result = self.work(connection)

    def fail(self, error: Exception) -> None:
        """Finish with an error, which is mapped.

        The error's frames hold the cursors that were interrupted, and with them the snapshot that these read.
        """
        traceback.clear_frames(error.__traceback__)
        self.error = mapped(error)
        self.finished = True

    def resolve(self) -> None:
        """Give the caller the outcome, unless the caller was cancelled; runs in the caller's loop."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(T, self.result))


def tell(jobs: Sequence[Job[T]]) -> None:
    """Give the callers of finished jobs the outcomes, each in its own loop."""
    loops = [job.future.get_loop() for job in jobs]
    for loop in set(loops):
        loop.call_soon_threadsafe(_resolve, [job for job, its in zip(jobs, loops, strict=True) if its is loop])


def _resolve(jobs: Sequence[Job[T]]) -> None:
    for job in jobs:
        job.resolve()
