"""Limits the calls of this process to its share of Cloudflare's rate limit.

After 1,200 calls in 5 minutes Cloudflare blocks every call of the token's owner for 5 minutes, including the
dashboard (https://developers.cloudflare.com/fundamentals/api/reference/limits/), so calls are refused here before that.
"""

import math
import time
from collections import deque
from collections.abc import Callable

import structlog

from app.domain.errors import RateLimited

WINDOW_SECONDS = 300.0
_REQUESTS_SHARE = 0.25
"""The part of the calls of a window that background work leaves to requests."""


class CallBudget:
    """Allows at most ``limit`` calls in any ``window`` seconds, and none while Cloudflare blocks."""

    def __init__(
        self,
        limit: int | None,
        *,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take this process's share of the window; None counts no calls and only respects blocks."""
        self._limit = limit
        self._window = window
        self._clock = clock
        self._passed: deque[float] = deque()
        self._blocked_until = -math.inf

    def take(self, *, background: bool = False) -> None:
        """Spend one call; ``background``: one that leaves a quarter of the window's calls to requests.

        Raises:
            RateLimited: the share is used up or Cloudflare blocks; it says when a call is allowed again.
        """
        now = self._clock()
        if now < self._blocked_until:
            raise RateLimited("Cloudflare has blocked all calls.", retry_after=math.ceil(self._blocked_until - now))
        if self._limit is None:
            return
        self._forget(now)
        most = self._limit - math.ceil(self._limit * _REQUESTS_SHARE) if background else self._limit
        if len(self._passed) >= most:
            wait = self._passed[len(self._passed) - most] + self._window - now if most else self._window
            what = "what it leaves to background work" if background else "share"
            raise RateLimited(
                f"This service's {what} of Cloudflare's rate limit is used up.", retry_after=math.ceil(wait)
            )
        self._passed.append(now)

    def block(self, seconds: float) -> None:
        """Refuse every call for so long, because Cloudflare blocks."""
        structlog.get_logger().error("cloudflare_blocks", seconds=seconds)
        self._blocked_until = max(self._blocked_until, self._clock() + seconds)

    def left(self) -> float:
        """Return how many calls are allowed now; infinite where no calls are counted."""
        now = self._clock()
        if now < self._blocked_until:
            return 0
        if self._limit is None:
            return math.inf
        self._forget(now)
        return self._limit - len(self._passed)

    def _forget(self, now: float) -> None:
        while self._passed and self._passed[0] <= now - self._window:
            self._passed.popleft()
