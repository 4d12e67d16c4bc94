"""One run of the database for what several parts of a request read at the same moment."""

import asyncio
from collections.abc import Sequence

from app.domain.errors import DatabaseRejected
from app.ports.database import Row
from app.storage.scoped import ScopedStatement, TenantDatabase

_TURNS = 5
"""How many turns of the event loop the first to ask waits for the others: they began together, and nothing that they do
before they ask waits for anything else."""


class GatheringDatabase(TenantDatabase):
    """A tenant's database for one request whose parts run side by side: what they read together is one call of it."""

    def __init__(self, below: TenantDatabase) -> None:
        """Take what runs what is gathered."""
        self._below = below
        self._waiting: list[tuple[Sequence[ScopedStatement], asyncio.Future[list[list[Row]]]]] = []
        self._gathering: asyncio.Task[None] | None = None

    @property
    def history_days(self) -> int:
        """For how many days the database below can be restored."""
        return self._below.history_days

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run the statements, with what others read at this moment; raises as ``TenantDatabase.run`` does.

        What writes is run by itself. A statement that the database refuses fails its own part alone.
        """
        if any(statement.writes for statement in statements):
            return await self._below.run(statements)
        answer: asyncio.Future[list[list[Row]]] = asyncio.get_running_loop().create_future()
        self._waiting.append((statements, answer))
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())
        return await answer

    async def _gather(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        gathered, self._waiting, self._gathering = self._waiting, [], None
        try:
            rows = await self._below.run([statement for statements, _ in gathered for statement in statements])
        except DatabaseRejected:
            await asyncio.gather(*(self._alone(*each) for each in gathered))
            return
        except BaseException as error:
            for _, answer in gathered:
                _fail(answer, error)
            if not isinstance(error, Exception):
                raise
            return
        place = 0
        for statements, answer in gathered:
            if not answer.done():
                answer.set_result(rows[place : place + len(statements)])
            place += len(statements)

    async def _alone(self, statements: Sequence[ScopedStatement], answer: "asyncio.Future[list[list[Row]]]") -> None:
        try:
            rows = await self._below.run(statements)
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
            _fail(answer, error)
        else:
            if not answer.done():
                answer.set_result(rows)


def _fail(answer: "asyncio.Future[list[list[Row]]]", error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
