"""Opens the runtimes of the shards beside the first: each is opened once, however many requests wait for it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass

import structlog

from app.domain.errors import MemoryGatewayError
from app.domain.shards import MAIN, Shard
from app.runtime.runtime import Runtime

OpenShard = Callable[[Shard], Runtime]
"""Makes the runtime of a shard without starting it; raises ``ConfigurationError`` where the settings forbid it."""
RETRY_SECONDS = 10.0
"""The time from a failed opening of a shard to the next try."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """The error of opening a shard, and until when it is not tried again, by the event loop's clock."""

    error: MemoryGatewayError
    until: float


class Openings:
    """The runtimes that are open, and the failures to open the others.

    A shard is opened by a task of its own: a request that waits for the task and goes does not end it, and a request
    waits only for the shard that it needs.
    """

    def __init__(self, main: Runtime, open_shard: OpenShard | None) -> None:
        """Take the runtime of the first shard, and the function that makes the runtimes of the others."""
        self.runtimes: dict[str, Runtime] = {MAIN: main}
        self.start: Callable[[Runtime], Awaitable[None]] = Runtime.start
        """Prepares or starts a runtime that has been made."""
        self.failures: dict[str, _Failure] = {}
        self._open_shard = open_shard
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def open(self, shard: Shard) -> None:
        """Open a shard, unless it is open; a failure is kept for a while, for the requests of the shard's tenants."""
        if (opening := self.begin(shard)) is not None:
            await asyncio.shield(opening)

    def begin(self, shard: Shard) -> asyncio.Task[None] | None:
        """Return the task that opens a shard; None where the shard is open, or is not to be tried again yet."""
        if self._open_shard is None or shard.name in self.runtimes:
            return None
        loop, name = asyncio.get_running_loop(), shard.name
        if name not in self._under_way:
            failure = self.failures.get(name)
            if failure is not None and loop.time() < failure.until:
                return None
            # The runtime's log events belong to no request, so the task has an empty context.
            opening = loop.create_task(self._open(self._open_shard, shard), name="shard", context=Context())
            self._under_way[name] = opening
            opening.add_done_callback(lambda _: self._under_way.pop(name))
        return self._under_way[name]

    async def close(self) -> None:
        """Cancel the openings under way; the runtimes that are open stay open."""
        under_way = list(self._under_way.values())
        for opening in under_way:
            opening.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _open(self, open_shard: OpenShard, shard: Shard) -> None:
        try:
            runtime = open_shard(shard)
            try:
                await self.start(runtime)
            except BaseException:
                await runtime.close()
                raise
        except MemoryGatewayError as error:
            self.failures[shard.name] = _Failure(error, asyncio.get_running_loop().time() + RETRY_SECONDS)
            structlog.get_logger().error("shard_failed", shard=shard.name, code=error.code, reason=error.detail)
        else:
            self.runtimes[shard.name] = runtime
            self.failures.pop(shard.name, None)
