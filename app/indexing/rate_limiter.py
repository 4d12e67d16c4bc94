"""Limits the rate of calls to a metered service."""

import asyncio
from collections.abc import Awaitable, Callable


class RateLimiter:
    """Lets calls through at a constant rate, and delays those that come faster."""

    def __init__(self, calls_per_minute: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Take the rate and the function that waits."""
        self._seconds = 60 / calls_per_minute
        self._sleep = sleep
        self._next = 0.0

    async def spend(self, calls: int = 1) -> None:
        """Wait until the next call is allowed, and count ``calls`` calls."""
        now = asyncio.get_running_loop().time()
        if self._next > now:
            await self._sleep(self._next - now)
        self._next = max(now, self._next) + calls * self._seconds
