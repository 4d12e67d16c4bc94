"""Cloudflare's limit on its API: 1,200 calls in 5 minutes, and past it every call is blocked for 5 minutes.

https://developers.cloudflare.com/fundamentals/api/reference/limits/
"""

import math
import threading
from collections import deque
from collections.abc import Mapping

from memory_gateway_double.clock import Clock
from memory_gateway_double.v4 import TOO_MANY_REQUESTS, failure
from memory_gateway_double.wire import Refusal

CALLS = 1_200
WINDOW_SECONDS = 300.0

BLOCKED = (
    f"More than {CALLS} requests per {WINDOW_SECONDS:.0f} seconds reached. "
    "Please wait and consider throttling your request speed"
)


class RateLimit:
    """Counts the calls of the account's one token. Safe from any thread."""

    def __init__(self, clock: Clock, *, enforced: bool) -> None:
        """Count by this clock; what is not enforced is not counted."""
        self.enforced = enforced
        self._clock = clock
        self._lock = threading.Lock()
        self._calls: deque[float] = deque()
        self._blocked_until = -math.inf

    def take(self) -> None:
        """Count a call.

        Raises:
            Refusal: the token is blocked; ``retry-after`` says for how many real seconds.
        """
        if not self.enforced:
            return
        with self._lock:
            now = self._clock.now()
            if now >= self._blocked_until:
                self._forget(now)
                if len(self._calls) < CALLS:
                    self._calls.append(now)
                    return
                self._blocked_until = now + WINDOW_SECONDS
            wait = self._wait(self._blocked_until - now)
        raise Refusal(failure(429, (TOO_MANY_REQUESTS, BLOCKED), headers={"retry-after": wait}))

    def headers(self) -> Mapping[str, str]:
        """Tell how much is left, as every answer does."""
        with self._lock:
            now = self._clock.now()
            self._forget(now)
            left, reset = CALLS - len(self._calls), WINDOW_SECONDS
            if self._calls:
                reset = self._calls[0] + WINDOW_SECONDS - now
            if now < self._blocked_until:
                left, reset = 0, self._blocked_until - now
        return {
            "Ratelimit": f'"default";r={left};t={self._wait(reset)}',
            "Ratelimit-Policy": f'"default";q={CALLS};w={WINDOW_SECONDS:.0f}',
        }

    def _forget(self, now: float) -> None:
        while self._calls and self._calls[0] <= now - WINDOW_SECONDS:
            self._calls.popleft()

    def _wait(self, seconds: float) -> str:
        return str(max(1, math.ceil(self._clock.real_seconds(seconds))))
