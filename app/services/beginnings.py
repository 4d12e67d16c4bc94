"""Lets requests begin one after the other, so that many of one tenant delay no other's by more than one (ADR 0020)."""

import asyncio

from app.domain.turns import Turns


class Beginnings:
    """One request begins in each round of the event loop; tenants take turns."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._waiting: Turns[asyncio.Future[None]] = Turns()
        self._busy = False
        """Whether a request has begun in this round."""

    async def turn(self, tenant_id: str) -> None:
        """Wait until a request of the tenant may begin; at once where none has begun in this round."""
        loop = asyncio.get_running_loop()
        if not self._busy:
            self._busy = True
            loop.call_soon(self._next_round, loop)
            return
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
        self._busy = False
