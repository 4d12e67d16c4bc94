"""Background work that is repeated, and that goes on after a failure."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from app.domain.errors import MemoryGatewayError

READY_SECONDS = 1.0
"""The pause between two checks whether work may begin; a check costs nothing."""


async def attempt(work: Callable[[], Awaitable[object]], *, waits: str) -> bool:
    """Do work that is tried again later if it fails, and return whether it succeeded.

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
    """Cancel tasks, and return when each has ended; what one had failed with before is logged."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    for outcome in await asyncio.gather(*ending, return_exceptions=True):
        if isinstance(outcome, Exception):
            structlog.get_logger().error("background_failed", exc_info=outcome)


@dataclass(frozen=True, slots=True)
class PeriodicWork:
    """Work that is done again after a pause, for as long as the process lives."""

    name: str
    work: Callable[[], Awaitable[object]]
    waits: str
    """The log event of an outage; after the pause the work is tried again."""
    pause: float | Callable[[bool], float]
    """Seconds between two times; a function takes whether the work succeeded the last time, and returns the seconds."""
    ready: Callable[[], bool] = lambda: True
    """Tells whether the work may begin."""
    delay: float = 0.0
    """Seconds before the first time."""
    unready_seconds: float = READY_SECONDS
    """Seconds to the next check where the work may not begin."""
    wanted: asyncio.Event | None = None
    """Ends a pause when it is set; the event is cleared before the work is done."""

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
