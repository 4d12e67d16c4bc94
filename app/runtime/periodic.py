"""Work in the background that is done again and again, and of which one failure must not be the last."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from app.domain.errors import MemoryGatewayError

READY_SECONDS = 1.0
"""Between two looks whether work may begin; they cost nothing."""


async def attempt(work: Callable[[], Awaitable[object]], *, waits: str) -> bool:
    """Do work that is tried again later, and return whether it is done.

    A failure is logged, an outage under the event ``waits``.
    """
    try:
        await work()
    except MemoryGatewayError as error:
        structlog.get_logger().warning(waits, code=error.code, reason=error.detail)
    except Exception:  # noqa: BLE001 - a defect is logged and must not stop the work for good
        structlog.get_logger().exception("background_failed")
    else:
        return True
    return False


async def stop(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks, and return when each has ended."""
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@dataclass(frozen=True, slots=True)
class PeriodicWork:
    """Work that is done again after a pause, for as long as the process lives."""

    name: str
    work: Callable[[], Awaitable[object]]
    waits: str
    """The log event of an outage, after which the work is tried again as if it were done."""
    pause: float | Callable[[bool], float]
    """Seconds between two times; a function is told whether the work was done the last time."""
    ready: Callable[[], bool] = lambda: True
    """Whether the work may begin."""
    delay: float = 0.0
    """Seconds before the first time."""
    unready_seconds: float = READY_SECONDS
    """Seconds to the next look where it may not."""
    wanted: asyncio.Event | None = None
    """Ends a pause when it is set; cleared before each time."""

    async def run(self) -> None:
        """Do the work again and again, until cancelled."""
        await asyncio.sleep(self.delay)
        while True:
            if not self.ready():
                await asyncio.sleep(self.unready_seconds)
                continue
            if self.wanted is not None:
                self.wanted.clear()
            done = await attempt(self.work, waits=self.waits)
            await self._rest(self.pause(done) if callable(self.pause) else self.pause)

    async def _rest(self, seconds: float) -> None:
        if self.wanted is None:
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self.wanted.wait(), seconds)
