"""The double's clock: starts at the real time and may run faster, so that minutes can be rehearsed in seconds."""

import threading
import time
from email.utils import formatdate


class Clock:
    """Tells the time in seconds since the epoch, by its own pace. Safe from any thread."""

    def __init__(self, scale: float = 1.0) -> None:
        """Run ``scale`` times as fast as real time."""
        if scale <= 0:
            raise ValueError("a clock must run forward")
        self._lock = threading.Lock()
        self._scale = scale
        self._real = time.monotonic()
        self._start = time.time()

    @property
    def scale(self) -> float:
        """How many of its seconds pass in a real one."""
        return self._scale

    @scale.setter
    def scale(self, scale: float) -> None:
        if scale <= 0:
            raise ValueError("a clock must run forward")
        with self._lock:
            real = time.monotonic()
            self._start += (real - self._real) * self._scale
            self._real, self._scale = real, scale

    def forward(self, seconds: float) -> None:
        """Let so many of its seconds pass at once."""
        with self._lock:
            self._start += seconds

    def now(self) -> float:
        """Seconds since the epoch."""
        with self._lock:
            return self._start + (time.monotonic() - self._real) * self._scale

    def real_seconds(self, seconds: float) -> float:
        """How long a span of this clock takes in real seconds: what a caller is told to wait."""
        return seconds / self._scale

    def http_date(self) -> str:
        """The ``Date`` header."""
        return formatdate(self.now(), usegmt=True)


def timestamp(seconds: float) -> str:
    """Write a moment as Cloudflare does: RFC 3339 in UTC with milliseconds."""
    milliseconds = int(seconds * 1000)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{whole}.{milliseconds % 1000:03d}Z"
