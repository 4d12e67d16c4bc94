"""Lets work that takes long go on in small parts, behind the requests that are under way (ADR 0020)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from app.domain.turns import TenantTurns

PATIENCE_SECONDS = 0.02
"""How long the next part waits for requests at most: long work goes on however many come."""


class LongWork:
    """Lets parts of long work begin, one in a round of the event loop; the tenants take turns.

    While requests are under way the next part waits until they have ended, but no longer than its patience.
    """

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Begin with nobody."""
        self._patience = patience_seconds
        self._under_way = 0
        self._waiting: TenantTurns[asyncio.Future[None]] = TenantTurns()
        self._since = 0.0
        """When the last part began, or later the first of those that wait came; in seconds of the loop."""
        self._planned: asyncio.Handle | None = None

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as under way while the block runs."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if self._planned is not None and not self._under_way:
                self._planned.cancel()
                self._planned = asyncio.get_running_loop().call_soon(self._go_on)

    async def part(self, tenant_id: str) -> None:
        """Wait until a part of a tenant's long work may begin: some milliseconds of work, before it asks again."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            self._since = loop.time()
        self._waiting.put(tenant_id, turn)
        if self._planned is None:
            self._planned = loop.call_soon(self._go_on)
        await turn

    def _go_on(self) -> None:
        """Let the next part begin, or plan when it does."""
        loop = asyncio.get_running_loop()
        latest = self._since + self._patience
        if self._under_way and loop.time() < latest:
            self._planned = loop.call_at(latest, self._go_on)
            return
        self._since = loop.time()
        while taken := self._waiting.take():
            _, turn = taken
            if not turn.done():  # its caller has not gone
                turn.set_result(None)
                break
        self._planned = loop.call_soon(self._go_on) if self._waiting else None
