"""Counts the calls of a command, which waits where a request of a server is refused (ADR 0040)."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

import structlog

from app.adapters.cloudflare.call_budget import WINDOW_SECONDS, CallBudget
from app.domain.errors import RateLimited

_LOOK_AGAIN = 1 / 20
"""Of a window: how often it looks whether a call is allowed by now. A share is renewed as often."""


class CommandBudget(CallBudget):
    """Waits until a call is allowed, for two windows at most: what a burst has spent is back after one.

    A command that leases a share leaves calls to requests. It never reports that it lacks some, so that others keep
    what they need, and it leaves a quarter of its share. While requests lack calls its share shrinks to what it uses,
    and so to less and less.
    """

    def __init__(
        self,
        limit: int | None,
        *,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        unleased: int | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take what ``CallBudget`` does; where ``unleased`` is None the command leases no share."""
        super().__init__(limit, window=window, clock=clock, unleased=unleased)
        self._leases = unleased is not None
        self._sleep = sleep

    @property
    def waits_seconds(self) -> float:
        """For how long a call waits at most."""
        return 2 * self.window

    @property
    def lacks_calls(self) -> bool:
        """Never: requests come first."""
        return False

    async def wait_for_report(self) -> None:
        """Wait until a call is allowed, and report as a server does.

        Raises:
            RateLimited: no call was allowed for so long.
            Unavailable: it cannot report now.
        """
        waited = 0.0
        await super().wait_for_report()
        while self.left() <= (reserve := self.reserve(background=self._leases)):
            if waited >= self.waits_seconds:
                raise RateLimited(
                    f"Requests left no Cloudflare call to this command for {waited:.0f} s. "
                    "Run it again later; what it has done stays done.",
                    retry_after=math.ceil(self.window),
                )
            if not waited:
                structlog.get_logger().warning("command_waits_for_cloudflare_calls")
            seconds = min(max(1.0, self.frees_in(1 + reserve)), self.window * _LOOK_AGAIN)
            await self._sleep(seconds)
            waited += seconds
            await super().wait_for_report()

    def take(self, *, background: bool = False) -> None:
        """Spend one call; raises as ``CallBudget.take`` does."""
        super().take(background=background or self._leases)
