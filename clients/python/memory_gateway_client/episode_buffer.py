"""Buffers of episodes: what happens is noted at once, and sent beside the turns of an agent, so that it delays none."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from memory_gateway_client.client import AsyncMemoryClient, MemoryClient
from memory_gateway_client.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    MemoryGatewayError,
    NotFound,
    QuotaExceeded,
)
from memory_gateway_client.ulids import new_ulid

MAX_BATCH = 100
"""Episodes of one request, as the service bounds them."""
MAX_BATCH_BYTES = 200_000
"""Of one request, which the service bounds at 256 KiB."""
MAX_WAITING = 10_000
"""Episodes that wait: beyond it the oldest are dropped."""

_REFUSALS = (InvalidRequest, Forbidden, NotFound, Conflict, QuotaExceeded)
"""The errors by which the service refuses episodes for good, but for limits of each minute."""


class _Waiting:
    """Episodes that wait to be sent, in their order. An episode leaves once the service has it, or never will."""

    def __init__(self, run_id: str, *, max_waiting: int) -> None:
        self.run_id = run_id
        self.refused: list[tuple[Mapping[str, Any], MemoryGatewayError]] = []
        self.dropped = 0
        self._max_waiting = max_waiting
        self._episodes: deque[tuple[dict[str, Any], int]] = deque()
        self._lock = threading.Lock()
        self._most = MAX_BATCH

    def __len__(self) -> int:
        return len(self._episodes)

    def add(self, type_: str, content: str, data: Mapping[str, Any] | None, occurred_at: datetime | None) -> str:
        """Note an episode, with its id and its time, and return its id."""
        if occurred_at is not None and occurred_at.tzinfo is None:
            raise ValueError("A time needs its time zone: datetime.now(UTC), not datetime.now().")
        episode = {
            "episode_id": new_ulid(),
            "type": type_,
            "content": content,
            "data": dict(data or {}),
            "occurred_at": (occurred_at or datetime.now(UTC)).isoformat(),
        }
        size = len(json.dumps(episode, allow_nan=False))
        with self._lock:
            self._episodes.append((episode, size))
            if len(self._episodes) > self._max_waiting:
                self._episodes.popleft()
                self.dropped += 1
        return str(episode["episode_id"])

    def batch(self) -> list[Mapping[str, Any]]:
        """Return the next episodes to send, which stay here."""
        taken: list[Mapping[str, Any]] = []
        room = MAX_BATCH_BYTES
        with self._lock:
            for episode, size in self._episodes:
                if len(taken) == self._most or (taken and size > room):
                    break
                taken.append(episode)
                room -= size
        return taken

    def sent(self, batch: Sequence[Mapping[str, Any]]) -> None:
        """Let go of what the service has."""
        self._leave(batch)
        self._most = MAX_BATCH

    def failed(self, batch: Sequence[Mapping[str, Any]], error: MemoryGatewayError) -> bool:
        """Keep what may be sent again, let go of what never can; return whether to go on with the next batch now.

        Where one episode of several is refused, they are sent one by one: so that it alone is let go of. What does not
        tell of the episodes refuses none: an outage, a failure of the service, a credential that does not hold, or an
        answer of something else on the way.
        """
        if not isinstance(error, _REFUSALS) or (isinstance(error, QuotaExceeded) and error.retry_after is not None):
            return False
        if isinstance(error, InvalidRequest) and len(batch) > 1:
            self._most = 1
            return True
        self.refused += [(each, error) for each in batch]
        self._leave(batch)
        return True

    def _leave(self, batch: Sequence[Mapping[str, Any]]) -> None:
        gone = {each["episode_id"] for each in batch}
        with self._lock:
            self._episodes = deque(each for each in self._episodes if each[0]["episode_id"] not in gone)


class _Buffer:
    """What both buffers have."""

    def __init__(self, run_id: str, seconds: float, max_waiting: int) -> None:
        self._waiting = _Waiting(run_id, max_waiting=max_waiting)
        self._seconds = seconds

    def __len__(self) -> int:
        """Return how many episodes wait to be sent."""
        return len(self._waiting)

    @property
    def refused(self) -> list[tuple[Mapping[str, Any], MemoryGatewayError]]:
        """The episodes that the service has refused for good, each with the reason."""
        return self._waiting.refused

    @property
    def dropped(self) -> int:
        """How many episodes were dropped, because more waited than may."""
        return self._waiting.dropped


class EpisodeBuffer(_Buffer):
    """Sends the episodes of one run from a thread of its own. Several threads may share it.

    ::

        with EpisodeBuffer(client, run.run_id) as happened:
            happened.append("tool_call", "send_invoice answered 200", data={"milliseconds": 412})
    """

    def __init__(
        self, client: MemoryClient, run_id: str, *, seconds: float = 1.0, max_waiting: int = MAX_WAITING
    ) -> None:
        """Begin to send, every so many ``seconds``, what waits; at most ``max_waiting`` episodes do."""
        super().__init__(run_id, seconds, max_waiting)
        self._client = client
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._send_now_and_then, name="episodes", daemon=True)
        self._thread.start()

    def append(
        self,
        type: str,  # noqa: A002 - the field's name
        content: str,
        *,
        data: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
    ) -> str:
        """Note what has happened, now where nothing else is said, and return its id. Nothing is sent yet."""
        return self._waiting.add(type, content, data, occurred_at)

    def flush(self) -> None:
        """Send what waits.

        Raises:
            MemoryGatewayError: the service is away, fails or takes no credential; what was not sent waits on.
        """
        with self._sending:
            while batch := self._waiting.batch():
                try:
                    self._client.append_episode(self._waiting.run_id, batch)
                except MemoryGatewayError as error:
                    if not self._waiting.failed(batch, error):
                        raise
                else:
                    self._waiting.sent(batch)

    def close(self) -> None:
        """Send what waits, and end the thread; raises as ``flush`` does."""
        self._closed.set()
        self._thread.join()
        self.flush()

    def __enter__(self) -> Self:
        """Return the buffer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _send_now_and_then(self) -> None:
        while not self._closed.wait(self._seconds):
            try:
                self.flush()
            except MemoryGatewayError:
                continue  # it waits on, and flush and close tell the reason


class AsyncEpisodeBuffer(_Buffer):
    """Sends the episodes of one run from a task of its own, on asyncio; else as ``EpisodeBuffer``.

    ::

        async with AsyncEpisodeBuffer(client, run.run_id) as happened:
            happened.append("tool_call", "send_invoice answered 200")
    """

    def __init__(
        self, client: AsyncMemoryClient, run_id: str, *, seconds: float = 1.0, max_waiting: int = MAX_WAITING
    ) -> None:
        """Set it up; it sends every so many ``seconds`` once it is entered."""
        super().__init__(run_id, seconds, max_waiting)
        self._client = client
        self._sending = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def append(
        self,
        type: str,  # noqa: A002 - the field's name
        content: str,
        *,
        data: Mapping[str, Any] | None = None,
        occurred_at: datetime | None = None,
    ) -> str:
        """Note what has happened, now where nothing else is said, and return its id. Nothing is sent yet."""
        return self._waiting.add(type, content, data, occurred_at)

    async def flush(self) -> None:
        """Send what waits; raises as that of ``EpisodeBuffer``."""
        async with self._sending:
            while batch := self._waiting.batch():
                try:
                    await self._client.append_episode(self._waiting.run_id, batch)
                except MemoryGatewayError as error:
                    if not self._waiting.failed(batch, error):
                        raise
                else:
                    self._waiting.sent(batch)

    async def aclose(self) -> None:
        """Send what waits, and end the task; raises as ``flush`` does."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    async def __aenter__(self) -> Self:
        """Begin to send, and return the buffer."""
        self._task = asyncio.create_task(self._send_now_and_then())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()

    async def _send_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self.flush()
            except MemoryGatewayError:
                continue  # it waits on, and flush and aclose tell the reason
