"""Counts the calls of a command, which waits where a request of a server is refused (ADR 0040)."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

import structlog

from app.adapters.cloudflare.call_budget import WINDOW_SECONDS, CallBudget
from app.domain.errors import RateLimited, Unavailable

_FIRST_PAUSE = 1 / 20
"""The part of a window after which a command first asks for a larger share. Idle servers have given way by then."""
_LONGEST_PAUSE = 1 / 5
"""The longest part of a window between two later requests for a share, because each request takes a call."""
_WINDOWS = 2
"""How many windows a command waits at most: the calls of a burst are free again after one."""


class CommandBudget(CallBudget):
    """Waits until a call is allowed, where a ``CallBudget`` refuses it, and while its share cannot be renewed.

    A command leaves calls to requests: it never reports that it lacks calls. While requests lack calls, its share
    shrinks to the calls that are for commands alone.
    """

    of_command = True

    def __init__(
        self,
        limit: int | None,
        *,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        unleased: int | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the arguments of ``CallBudget``, and how to sleep."""
        super().__init__(limit, window=window, clock=clock, unleased=unleased)
        self._sleep = sleep
        self._warned_at = -math.inf

    @property
    def lacks_calls(self) -> bool:
        """False at all times: requests come first."""
        return False

    def take(self, *, background: bool = False) -> None:  # noqa: ARG002 - all of its calls give way to requests
        """Spend one call; raises as ``CallBudget.take`` does."""
        super().take()

    async def admit(self) -> None:
        """Wait until a call is allowed, for two windows at most.

        Raises:
            RateLimited: no call was allowed within two windows.
            Unavailable: Cloudflare blocked for two windows, or the share could not be renewed.
        """
        waited, pause = 0.0, self.window * _FIRST_PAUSE
        while (reason := await self._refusal(renew=waited > 0)) is not None:
            if waited >= _WINDOWS * self.window:
                raise reason
            self._warn(reason)
            seconds = max(1.0, min(self.frees_in(1) or pause, pause))
            await self._sleep(seconds)
            waited += seconds
            pause = min(2 * pause, self.window * _LONGEST_PAUSE)

    def _warn(self, reason: Unavailable) -> None:
        """Log why the command waits, once in a window: where few calls are left, it waits for each call."""
        if self._clock() >= self._warned_at + self.window:
            self._warned_at = self._clock()
            structlog.get_logger().warning("command_waits_for_cloudflare_calls", code=reason.code, reason=reason.detail)

    async def _refusal(self, *, renew: bool) -> Unavailable | None:
        """Return why no call is allowed now; None where a call is allowed. ``renew`` asks for a larger share first."""
        try:
            self.check_block()
            if renew and self._report is not None and self.left() < 1:
                await self._report()
            await super().admit()
        except Unavailable as error:
            return error
        if self.left() >= 1:
            return None
        return RateLimited(
            f"This command has made the {self.limit} Cloudflare calls that others leave it in {self.window:.0f} s.",
            retry_after=max(1, math.ceil(self.frees_in(1))),
        )
