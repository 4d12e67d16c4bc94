"""Counts calls of an embeddings API, which takes a number per minute, and warns before they are used up."""

import math
import time
from collections import deque
from collections.abc import Callable

import structlog

from app.domain.errors import RateLimited

_SECONDS = 60.0
_WARNED = 0.8
"""The part of a minute's calls at which the operator is warned."""


class CallMeter:
    """Allows at most ``limit`` calls in any 60 seconds; None: any number."""

    def __init__(self, limit: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the limit of the API for this process."""
        self._limit = limit
        self._clock = clock
        self._passed: deque[float] = deque()
        self._warned_at = -math.inf

    def take(self) -> None:
        """Spend one call.

        Raises:
            RateLimited: this minute's calls are used up; the error says when the next call is allowed.
        """
        if self._limit is None:
            return
        now = self._clock()
        if self.left() < 1:
            wait = max(1, math.ceil(self._passed[0] + _SECONDS - now))
            raise RateLimited("This service's embedding calls of this minute are used up.", retry_after=wait)
        self._passed.append(now)
        if len(self._passed) >= self._limit * _WARNED and now >= self._warned_at + _SECONDS:
            self._warned_at = now
            structlog.get_logger().warning("embedding_calls_low", calls=len(self._passed), limit=self._limit)

    def left(self) -> float:
        """Return how many calls are allowed now; infinite where none are counted."""
        if self._limit is None:
            return math.inf
        now = self._clock()
        while self._passed and self._passed[0] <= now - _SECONDS:
            self._passed.popleft()
        return self._limit - len(self._passed)
