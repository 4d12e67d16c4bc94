"""Remembers what was asked: how often each operation, and the last requests whole."""

import threading
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass

from memory_gateway_double.wire import Request

_KEPT = 1000
_KEPT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came."""

    operation: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class Recorder:
    """Counts every call, also those that were refused or struck by a fault. Safe from any thread."""

    def __init__(self) -> None:
        """Start from nothing."""
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._requests: deque[RecordedRequest] = deque()
        self._bytes = 0

    def record(self, request: Request) -> None:
        """Take note of a request."""
        kept = RecordedRequest(
            request.operation,
            request.method,
            request.path,
            request.query,
            request.headers,
            request.body,
        )
        with self._lock:
            self._calls[request.operation] += 1
            self._requests.append(kept)
            self._bytes += len(kept.body)
            while len(self._requests) > _KEPT or (self._bytes > _KEPT_BYTES and len(self._requests) > 1):
                self._bytes -= len(self._requests.popleft().body)

    def calls(self) -> dict[str, int]:
        """Return how often each operation was called."""
        with self._lock:
            return dict(self._calls)

    def requests(self) -> list[RecordedRequest]:
        """Return the last requests, the oldest first: a thousand, or fewer where their bodies are large."""
        with self._lock:
            return list(self._requests)

    def reset(self) -> None:
        """Forget both."""
        with self._lock:
            self._calls.clear()
            self._requests.clear()
            self._bytes = 0
