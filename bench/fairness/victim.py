"""What another tenant, who does nothing unusual, notices: how long its store, recall and tool call take."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from app.domain.memory import Scope
from app.interfaces.tools.recall_store import RECALL_MEMORY
from bench.data import Requests, questions
from bench.fairness.wire import Connection, p99, request, timed
from bench.mcp import tool_call

SCOPE = Scope("quiet", "assistant")
_PAUSE_SECONDS = 0.01
_OK = range(200, 300)


@dataclass(slots=True)
class Noticed:
    """The seconds that each kind of request took, and how many had no success."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)

    def p99(self, kind: str) -> float:
        """Return the 99th percentile in milliseconds."""
        return p99(self.seconds[kind]) * 1000


async def notice(port: int, kinds: dict[str, Iterator[bytes]], *, seconds: float, least: int = 20) -> Noticed:
    """Send one request of each kind in turn for so long, and at least so many of each."""
    noticed = Noticed({kind: [] for kind in kinds})
    connections = {kind: Connection(port) for kind in kinds}
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    number = 0
    while loop.time() < ends or number < least:
        number += 1
        for kind, requests in kinds.items():
            status, took = await timed(connections[kind], next(requests))
            noticed.seconds[kind].append(took)
            noticed.failed[kind] += status not in _OK
            await asyncio.sleep(_PAUSE_SECONDS)
    for connection in connections.values():
        connection.close()
    return noticed


def ordinary(seed: int) -> dict[str, Iterator[bytes]]:
    """Return a store, a recall and a tool call of the quiet tenant, each without end and never the same."""
    made = Requests([SCOPE], seed=seed)

    def each(make: str) -> Iterator[bytes]:
        while True:
            yield from getattr(made, make)(1)

    calls = (tool_call(SCOPE, RECALL_MEMORY, {"query": text}) for text in questions(seed + 1))
    return {"store": each("stores"), "recall": each("recalls"), "MCP tool call": calls}


def looking(seed: int) -> dict[str, Iterator[bytes]]:
    """Return a look at the health and a recall, each without end."""

    def health() -> Iterator[bytes]:
        while True:
            yield request("GET", "/healthz")

    return {"/healthz": health(), "recall": ordinary(seed)["recall"]}


@asynccontextmanager
async def meanwhile(command: list[str]) -> AsyncIterator[None]:
    """Run a process while the block runs."""
    process = await asyncio.create_subprocess_exec(*command)
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
