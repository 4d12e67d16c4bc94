"""Open-loop load: requests begin at moments fixed beforehand, whether or not earlier ones were answered.

A client that waits for each answer before it asks again asks less while the service is slow, and leaves the waiting of
all others out of its figures. Here each request is due at a moment, and its time runs from that moment.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bench.client import HOST, length_of_body

NO_ANSWER = 0
"""The status of a request that was not answered in time, or whose connection broke."""
_CONNECTIONS = 512
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one request: its HTTP status, and the seconds from the moment it was due to its answer."""

    status: int
    seconds: float


def moments(rate: float, count: int, seed: int) -> Iterator[float]:
    """Yield the seconds after the start at which requests are due: independent arrivals, ``rate`` a second."""
    random, due = Random(seed), 0.0
    for _ in range(count):
        yield due
        due += random.expovariate(rate)


async def offer(port: int, requests: Sequence[bytes], rate: float, *, seed: int) -> list[Answer]:
    """Send each request when it is due, and return what became of each, in the order they were due.

    At most 512 are under way; what is due past these waits, and its time runs. A request is given up 10 seconds after
    it was due.
    """
    connections = _Connections(port)
    started = time.perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = []
            for request, due in zip(requests, moments(rate, len(requests), seed), strict=True):
                await asyncio.sleep(max(0.0, started + due - time.perf_counter()))
                tasks.append(group.create_task(_asked(connections, request, started + due)))
    finally:
        connections.close()
    return [task.result() for task in tasks]


async def _asked(connections: "_Connections", request: bytes, due: float) -> Answer:
    try:
        async with asyncio.timeout(due + _PATIENCE_SECONDS - time.perf_counter()):
            status = await connections.ask(request)
    except (TimeoutError, OSError, EOFError):
        status = NO_ANSWER
    return Answer(status, time.perf_counter() - due)


class _Connections:
    """Keep-alive connections to one port, opened when no other is free."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._room = asyncio.Semaphore(_CONNECTIONS)

    async def ask(self, request: bytes) -> int:
        """Send a request and return the status of its answer, which is read to its end."""
        async with self._room:
            reader, writer = self._free.pop() if self._free else await asyncio.open_connection(HOST, self._port)
            try:
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(length_of_body(head))
            except BaseException:  # an answer that nobody read to its end would be taken for the next one's
                writer.close()
                raise
            self._free.append((reader, writer))
            return int(head[9:12])

    def close(self) -> None:
        """Close what is open."""
        for _, writer in self._free:
            writer.close()
