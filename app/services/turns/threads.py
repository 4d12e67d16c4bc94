"""Turns at work in threads: it takes so long that the event loop must go on meanwhile."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from app.domain.turns import TenantTurns

T = TypeVar("T")


class ThreadTurns:
    """Does one piece of work at a time in a thread; tenants take turns.

    More at once would take the interpreter from the event loop more often, and the process's few threads from others.
    A piece whose caller has gone is not begun. One that has begun keeps its place until it ends, since no thread can be
    stopped.
    """

    def __init__(self) -> None:
        """Begin without work."""
        self._waiting: TenantTurns[asyncio.Future[None]] = TenantTurns()
        self._is_taken = False

    async def run(self, tenant_id: str, work: Callable[[], T]) -> T:
        """Return the result of a tenant's work, once it is its turn; raises what the work raises."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.put(tenant_id, turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was its turn just now
                self._ended()
            raise
        doing = loop.run_in_executor(None, work)
        doing.add_done_callback(self._ended)
        return await asyncio.shield(doing)

    def _ended(self, done: "asyncio.Future[T] | None" = None) -> None:
        if done is not None and not done.cancelled():
            done.exception()  # where the caller has gone, asyncio would log that nobody asked for it
        self._is_taken = False
        self._next()

    def _next(self) -> None:
        """Give the place to the next whose caller is there."""
        while not self._is_taken and (taken := self._waiting.take()):
            _, turn = taken
            if not turn.done():
                self._is_taken = True
                turn.set_result(None)
