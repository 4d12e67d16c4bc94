"""What a flood of requests without a credential costs a tenant: the median of its recalls, beside and without it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.client import HOST, drive, get
from bench.data import AUTH_SECRETS, Requests, tenants
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_MEMORIES = 300
_RECALLS = 60
_FLOODERS = 16
_MOST_SECONDS = 20.0
_PATHS = ("/openapi.json", "/metrics", "/nothing")
_PART = 1 << 20


async def measure(checkout: Checkout) -> list[Measurement]:
    """Measure a tenant's recalls alone, then beside 16 connections that ask for one path without a pause."""
    measured = []
    with TemporaryDirectory(prefix="anonymous-") as directory:
        settings = {"DATA_DIR": directory, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS, "LOG_LEVEL": "error"}
        requests = Requests(tenants(1), seed=7)
        async with checkout.serve(Path(directory), settings) as server:
            await drive(server.port, requests.stores(_MEMORIES))
            await drive(server.port, [get(path, {}) for path in _PATHS[:2]], clients=1)  # what is made once is made
            for path in _PATHS:
                before = await _median(server.port, requests)
                async with _flood(server.port, path):
                    beside = await _median(server.port, requests)
                alone = (before + await _median(server.port, requests)) / 2
                name = f"recall p50 beside a flood of {path}"
                measured.append(Measurement(name, "times that without", beside / alone, "at most 2"))
    return measured


async def _median(port: int, requests: Requests) -> float:
    """Return the median seconds of recalls that one client makes, one after the other, in bounded time."""
    taken: list[float] = []
    ends = time.monotonic() + _MOST_SECONDS
    for recall in requests.recalls(_RECALLS):
        if taken and time.monotonic() > ends:
            break
        taken += await drive(port, [recall], clients=1)
    return median(taken)


@asynccontextmanager
async def _flood(port: int, path: str) -> AsyncIterator[None]:
    """Ask for a path on all connections for as long as the block lasts."""
    flooders = [asyncio.create_task(_ask_again(port, get(path, {}))) for _ in range(_FLOODERS)]
    try:
        await asyncio.sleep(0.5)
        yield
    finally:
        for flooder in flooders:
            flooder.cancel()
        await asyncio.gather(*flooders, return_exceptions=True)


async def _ask_again(port: int, request: bytes) -> None:
    reader, writer = await asyncio.open_connection(HOST, port, limit=_PART)
    try:
        while True:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            await reader.readexactly(int(next(line for line in lines if line.startswith(b"content-length:"))[15:]))
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
