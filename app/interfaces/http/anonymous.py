"""Lets requests without a verified credential take turns, so that a flood of them delays others' by little (ADR 0050).

What they are answered is cheap, and yet a flood of cheap answers keeps the event loop from what tenants wait for. So
one of them begins at a time, and the next one only after a pause of several times as long as it took: the busier the
process is, the longer. They are never refused here, because health checks are among them.
"""

import asyncio

from app.domain.turns import TenantTurns

ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that are answered at any load: who restarts a server because it does not answer makes it worse."""

LEAST_PAUSE_SECONDS = 0.004
"""The shortest time from one that begins to the next."""
MOST_PAUSE_SECONDS = 0.05
"""The longest one for the time that an answer took."""
_PAUSE_FACTOR = 4
"""How many times as long as an answer has taken the next one waits: they have a fifth of the event loop at most."""
_BYTES_PER_SECOND = 20_000_000
"""How fast bytes may be handed out to them."""


class AnonymousTurns:
    """The turns of one server. Addresses take turns, and what asks whether the server lives has a line of its own."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._waiting: TenantTurns[asyncio.Future[None]] = TenantTurns()
        self._next_at = 0.0
        """When the next one may begin, by the event loop's clock."""
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
        """Let the next one wait by how long an answer took, and how many bytes it has."""
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
