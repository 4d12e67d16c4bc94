"""One call of the database for the statements that several parts of a request run at the same moment."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from app.domain.errors import DatabaseRejected
from app.ports.database import Row
from app.storage.scoped import ScopedStatement, TenantDatabase

_TURNS = 5
"""How many turns of the event loop the first run waits for the runs of the other parts: all parts begin together, and
no part waits for anything else before its first run."""


class GatheringDatabase(TenantDatabase):
    """A tenant's database for one request whose parts run side by side: runs that wait together are one call.

    The first run is sent at once, with the runs of the other parts at that moment. A later run waits until every part
    that is still under way waits with a run too: a part with two runs waits for the slowest part.
    """

    def __init__(self, below: TenantDatabase) -> None:
        """Take the database that runs the gathered statements."""
        self._below = below
        self._parts = 0
        self._first = True
        self._begun = False
        """Whether the first call was sent."""
        self._waiting: list[_WaitingRun] = []
        self._running: set[asyncio.Task[None]] = set()

    @property
    def history_days(self) -> int:
        """For how many days the database below can be restored."""
        return self._below.history_days

    @asynccontextmanager
    async def part(self) -> AsyncIterator[None]:
        """Count a part as under way; all parts begin before the first part runs a statement."""
        self._parts += 1
        try:
            yield
        finally:
            self._parts -= 1
            self._send_if_all_ask()

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run the statements, in one call with those of other parts; raises as ``TenantDatabase.run`` does.

        Where the database refuses a statement, the call has no effect: each part's statements run once more, alone.
        """
        asked = _WaitingRun(statements)
        self._waiting.append(asked)
        if self._first:
            self._first = False
            self._start(self._first_of_all())
        else:
            self._send_if_all_ask()
        return await asked.answer

    async def _first_of_all(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self._begun = True
        await self._send()

    def _send_if_all_ask(self) -> None:
        if self._waiting and self._begun and len(self._waiting) >= self._parts:
            self._start(self._send())

    def _start(self, sending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(sending)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _send(self) -> None:
        gathered, self._waiting = self._waiting, []
        if not gathered:
            return
        try:
            rows = await self._below.run([statement for asked in gathered for statement in asked.statements])
        except DatabaseRejected:
            await asyncio.gather(*(self._alone(asked) for asked in gathered))
        except Exception as error:  # noqa: BLE001 - it is raised where each answer is awaited
            for asked in gathered:
                asked.fail(error)
        else:
            for asked in gathered:
                asked.succeed(rows[: len(asked.statements)])
                rows = rows[len(asked.statements) :]

    async def _alone(self, asked: "_WaitingRun") -> None:
        try:
            asked.succeed(await self._below.run(asked.statements))
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            asked.fail(error)


class _WaitingRun:
    """The statements of one part that waits, and their answer."""

    def __init__(self, statements: Sequence[ScopedStatement]) -> None:
        self.statements = statements
        self.answer: asyncio.Future[list[list[Row]]] = asyncio.get_running_loop().create_future()

    def succeed(self, rows: list[list[Row]]) -> None:
        if not self.answer.done():
            self.answer.set_result(rows)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
