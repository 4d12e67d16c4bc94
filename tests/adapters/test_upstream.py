"""Calls over real connections on this machine: kept, bounded in time, every failure to be reached mapped."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from app.adapters.upstream import Call, Upstream
from app.errors import MemoryGatewayError, RateLimited, UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.observability.metrics import Metrics
from tests.observability.samples import calls

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


@pytest.fixture(autouse=True)
def _one_tls_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: TLS)


@asynccontextmanager
async def upstream_of(url: str, *, seconds: float = 5.0) -> AsyncIterator[Upstream]:
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


async def test_calls_one_after_another_share_a_connection() -> None:
    async with serving(done) as service, upstream_of(service.url) as upstream:
        for _ in range(5):
            assert (await upstream.send(CALL)).content == BODY
        assert (service.requests, service.connections) == (5, 1)


async def test_calls_at_once_have_a_connection_each_and_later_ones_take_those() -> None:
    async with serving(done) as service, upstream_of(service.url) as upstream:
        for _ in range(3):
            await asyncio.gather(*(upstream.send(CALL) for _ in range(8)))
        assert service.requests == 24
        assert service.connections <= 8


async def test_closing_closes_every_connection() -> None:
    async with serving(done) as service:
        async with upstream_of(service.url) as upstream:
            await asyncio.gather(*(upstream.send(CALL) for _ in range(4)))
            assert service.open
        async with asyncio.timeout(2):
            while service.open:
                await asyncio.sleep(0.01)


async def test_a_call_under_way_at_the_close_leaves_no_connection_open() -> None:
    answered = asyncio.Event()

    async def later(writer: asyncio.StreamWriter) -> None:
        await answered.wait()
        writer.write(http(BODY))

    async with serving(later) as service, upstream_of(service.url) as upstream:
        task = asyncio.create_task(upstream.send(CALL))
        while not service.requests:
            await asyncio.sleep(0.005)
        await upstream.close()
        answered.set()
        assert (await task).content == BODY
        async with asyncio.timeout(0.3):
            while service.open:
                await asyncio.sleep(0.01)


async def test_a_connection_that_the_service_closed_meanwhile_is_replaced() -> None:
    async def last(writer: asyncio.StreamWriter) -> None:
        writer.write(http(BODY))
        await writer.drain()
        writer.close()

    async with serving(last, done) as service, upstream_of(service.url) as upstream:
        await upstream.send(CALL)
        while service.open:
            await asyncio.sleep(0.01)
        assert (await upstream.send(CALL)).content == BODY
        assert service.connections == 2


async def closes(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def half(writer: asyncio.StreamWriter) -> None:
    writer.write(http(BODY[:5], length=len(BODY)))
    await writer.drain()
    writer.close()


async def half_a_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    await writer.drain()
    writer.close()


async def no_http(writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n\r\n")


async def no_gzip(writer: asyncio.StreamWriter) -> None:
    writer.write(http(BODY, headers="Content-Encoding: gzip\r\n"))


@pytest.mark.parametrize("reply", [closes, half, half_a_head, no_http, no_gzip], ids=lambda reply: reply.__name__)
async def test_a_reply_that_breaks_off_is_unavailable_and_the_next_call_is_answered(reply: Reply) -> None:
    async with serving(reply, done) as service, upstream_of(service.url) as upstream:
        error = await failed(upstream)
        assert type(error) is UpstreamUnavailable
        assert error.detail.startswith("Thing could not be reached (")
        assert service.requests == 1
        assert (await upstream.send(CALL)).content == BODY


async def test_a_service_that_is_not_there_is_unavailable() -> None:
    async with serving(done) as service:
        url = service.url
    async with upstream_of(url) as upstream:
        error = await failed(upstream)
    assert type(error) is UpstreamUnavailable
    assert "ConnectError" in error.detail


@pytest.mark.parametrize("reply", [hangs, drips], ids=["nothing comes", "it comes in drips"])
@pytest.mark.parametrize("by", ["the service's", "the call's own"])
async def test_no_whole_answer_by_the_deadline_is_a_timeout_and_the_next_call_is_answered(
    reply: Reply, by: str
) -> None:
    seconds = 0.1 if by == "the service's" else 5.0
    call = CALL if by == "the service's" else Call("thing.do", "POST", "/thing", b"{}", seconds=0.1)
    async with serving(reply, done) as service, upstream_of(service.url, seconds=seconds) as upstream:
        error = await failed(upstream, call)
        assert type(error) is UpstreamTimeout
        assert error.detail == "Thing did not answer thing.do in time."
        assert (await upstream.send(Call("thing.do", "GET", "/thing", seconds=5.0))).content == BODY
        assert service.connections == 2


async def test_a_call_that_its_caller_leaves_gives_its_connection_up() -> None:
    async with serving(hangs, done) as service, upstream_of(service.url) as upstream:
        task = asyncio.create_task(upstream.send(CALL))
        while not service.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await upstream.send(CALL)).content == BODY


async def test_calls_beyond_the_connections_wait_for_one_within_their_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.upstream._CONNECTIONS", 1)
    async with serving(hangs, done) as service, upstream_of(service.url) as upstream:
        holding = asyncio.create_task(upstream.send(CALL))
        while not service.requests:
            await asyncio.sleep(0.005)
        waiting = asyncio.create_task(upstream.send(CALL))
        assert type(await failed(upstream, Call("thing.do", "GET", "/thing", seconds=0.05))) is UpstreamTimeout
        assert service.requests == 1
        holding.cancel()
        assert (await waiting).content == BODY
        assert service.requests == 2


async def test_a_compressed_answer_is_read() -> None:
    async def compressed(writer: asyncio.StreamWriter) -> None:
        writer.write(http(gzip.compress(BODY), headers="Content-Encoding: gzip\r\n"))

    async with serving(compressed) as service, upstream_of(service.url) as upstream:
        assert upstream.read_json(await upstream.send(CALL)) == {"done": True}


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"done":', b"\xff", b"NaN", b'"\xed\xa0\x80"'])
async def test_a_body_that_is_not_json_is_not_believed(body: bytes) -> None:
    async with upstream_of("http://127.0.0.1:1") as upstream:
        with pytest.raises(UpstreamRejected, match="Thing answered something that is not JSON"):
            upstream.read_json(httpx.Response(200, content=body))


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (UpstreamTimeout("x"), "upstream_timeout"),
        (RateLimited("x", retry_after=1), "rate_limited"),
        (asyncio.CancelledError(), "cancelled"),
        pytest.param(KeyError(), "failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_measured_is_counted_once_by_how_it_ended(error: BaseException | None, outcome: str) -> None:
    metrics = Metrics()
    upstream = Upstream("Thing", base_url="http://127.0.0.1:1", headers={}, seconds=1, metrics=metrics)

    def work() -> None:
        with upstream.measured("thing.do"):
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(type(error)):
            work()
    assert calls(metrics) == {("thing.do", outcome): 1}
