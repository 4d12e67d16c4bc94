"""Connections that take whatever answer comes, and how long answers take."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bench.client import HOST

_PATIENCE_SECONDS = 120.0
REFUSED = 0
"""The status of a request whose connection was closed or that nobody answered in time."""


def request(method: str, path: str, content: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    """Write a request as the bytes that go over the wire."""
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {HOST}",
        f"Content-Length: {len(content)}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass(slots=True)
class Connection:
    """One connection to the service, opened anew where it was closed."""

    port: int
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = field(default=None, init=False)

    async def ask(self, sent: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of the answer."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await self._ask(sent)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            self.close()
            return REFUSED, b""

    async def _ask(self, sent: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self.port)
        reader, writer = self._streams
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b"transfer-encoding: chunked" in head:
            body = b""
            while size := int(await reader.readuntil(b"\r\n"), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        else:
            _, found, rest = head.partition(b"content-length:")
            body = await reader.readexactly(int(rest.partition(b"\r\n")[0])) if found else b""
        if b"connection: close" in head:
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        """Close it; the next request opens another."""
        if self._streams is not None:
            with suppress(OSError):
                self._streams[1].close()
            self._streams = None


async def timed(connection: Connection, sent: bytes) -> tuple[int, float]:
    """Send a request; return the status and the seconds until its answer was complete."""
    started = time.perf_counter()
    status, _ = await connection.ask(sent)
    return status, time.perf_counter() - started


def p99(seconds: Sequence[float]) -> float:
    """Return the 99th percentile: of fewer than 100 values the largest."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
