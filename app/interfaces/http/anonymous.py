"""Lets requests without a verified credential take turns, so that a flood of them delays other requests little.

Their answers are cheap, and yet a flood of cheap answers keeps the event loop from tenants' requests (ADR 0050). So one
anonymous request begins at a time, and the next only after a pause of several times as long as its answer took: the
busier the process is, the longer. Anonymous requests are never refused here, because health checks are among them.
"""

import asyncio

from app.domain.turns import TenantTurns

ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that are answered at any load: restarting a server because it does not answer makes the load worse."""

LEAST_PAUSE_SECONDS = 0.004
"""The shortest time from the beginning of one request to that of the next."""
MOST_PAUSE_SECONDS = 0.05
"""The longest pause for the time that an answer took."""
_PAUSE_FACTOR = 4
"""The pause as a multiple of an answer's time: anonymous requests have a fifth of the event loop at most."""
_BYTES_PER_SECOND = 20_000_000
"""How fast bytes of answers may be sent to anonymous requests."""


class AnonymousTurns:
    """The turns of one server. Addresses take turns, and an address's health checks wait in a line of their own."""

    def __init__(self) -> None:
        """Begin with no request that waits."""
        self._waiting: TenantTurns[asyncio.Future[None]] = TenantTurns()
        self._next_at = 0.0
        """When the next request may begin, by the event loop's clock."""
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, address: str, path: str) -> None:
        """Wait until a request from an address may begin, or be answered."""
        loop = asyncio.get_running_loop()
        if not self._waiting and loop.time() >= self._next_at:
            self._begin(loop)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.put(f"{address} {path in ALWAYS_ANSWERED}", turn)
        self._look_later(loop)
        await turn

    def ended(self, seconds: float, sent_bytes: int) -> None:
        """Let the next request wait by how long an answer took, and by how many bytes it has."""
        pause = min(MOST_PAUSE_SECONDS, _PAUSE_FACTOR * seconds) + sent_bytes / _BYTES_PER_SECOND
        self._next_at = max(self._next_at, asyncio.get_running_loop().time() + pause)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._next_at = max(self._next_at, loop.time() + LEAST_PAUSE_SECONDS)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None:
            self._timer = loop.call_at(self._next_at, self._next)

    def _next(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        if loop.time() < self._next_at:  # an answer has taken long meanwhile
            self._look_later(loop)
            return
        while taken := self._waiting.take():
            if not taken[1].done():  # its caller has not gone
                taken[1].set_result(None)
                self._begin(loop)
                break
        if self._waiting:
            self._look_later(loop)
