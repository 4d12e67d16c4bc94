"""Lets few requests begin at a time, so that many of one tenant delay another's by little (ADR 0020)."""

import asyncio
import time
from collections.abc import Callable

from app.domain.turns import Turns

_ROUND_SECONDS = 0.005
"""How long requests begin in a round of the event loop: ordinary ones that come together also begin together."""


class RequestTurns:
    """Lets requests begin for some milliseconds in each round of the event loop, then tenants take turns."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Take a clock that tells seconds."""
        self._clock = clock
        self._waiting: Turns[asyncio.Future[None]] = Turns()
        self._ends: float | None = None
        """Until when requests may begin in this round; None where none has begun."""

    async def wait(self, tenant_id: str) -> None:
        """Wait until a request of the tenant may begin; at once where this round has time left and nobody waits."""
        loop = asyncio.get_running_loop()
        now = self._clock()
        if self._ends is None:
            self._ends = now + _ROUND_SECONDS
            loop.call_soon(self._next_round, loop)
        elif self._waiting or now >= self._ends:
            turn: asyncio.Future[None] = loop.create_future()
            self._waiting.put(tenant_id, turn)
            await turn

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        while taken := self._waiting.take():
            _, turn = taken
            if not turn.done():  # its caller has not gone
                turn.set_result(None)
                loop.call_soon(self._next_round, loop)
                return
        self._ends = None
