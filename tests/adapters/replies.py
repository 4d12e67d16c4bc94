"""A service on this machine that replies as a test tells it, and an upstream that calls it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from app.adapters.upstream import Call, Upstream
from app.domain.errors import MemoryGatewayError
from app.observability.metrics import Metrics

TLS = httpx.create_ssl_context()
CALL = Call("thing.do", "POST", "/thing", b"{}")
BODY = b'{"done":true}'
Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


def http(body: bytes, *, length: int | None = None, headers: str = "") -> bytes:
    """A reply; ``length`` is what it says of its body."""
    told = len(body) if length is None else length
    return f"HTTP/1.1 200 OK\r\nContent-Length: {told}\r\n{headers}\r\n".encode() + body


async def done(writer: asyncio.StreamWriter) -> None:
    writer.write(http(BODY))


async def hangs(_: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def drips(writer: asyncio.StreamWriter) -> None:
    writer.write(http(b"", length=10_000))
    for _ in range(10_000):
        writer.write(b" ")
        await asyncio.sleep(0.01)


@dataclass
class Service:
    """Reads requests and replies as it is told, one reply a request; the last is repeated."""

    replies: list[Reply]
    url: str = ""
    requests: int = 0
    heads: list[bytes] = field(default_factory=list)
    """The heads of the requests."""
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), b":0"
                )
                await reader.readexactly(int(length.split(b":")[1]))
                reply = self.replies[min(self.requests, len(self.replies) - 1)]
                self.requests += 1
                self.heads.append(head)
                await reply(writer)
                if writer.is_closing():
                    return
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()


@asynccontextmanager
async def serving(*replies: Reply) -> AsyncIterator[Service]:
    service = Service(list(replies))
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(service.serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def upstream_of(url: str, *, seconds: float = 5.0) -> AsyncIterator[Upstream]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx, "create_ssl_context", lambda: TLS)
        upstream = Upstream("Thing", base_url=url, headers={"X-Own": "own"}, seconds=seconds, metrics=Metrics())
    try:
        yield upstream
    finally:
        await upstream.close()


async def failed(upstream: Upstream, call: Call = CALL) -> MemoryGatewayError:
    async with asyncio.timeout(3):
        with pytest.raises(MemoryGatewayError) as caught:
            await upstream.send(call)
    return caught.value
