"""What a connection may cost: heads, bodies and connections without end are ended, and others are served meanwhile."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from app.interfaces.server.connections import ConnectionLimits
from app.interfaces.server.guarded_http import guarded

LIMITS = ConnectionLimits(
    connections=6,
    of_one_address=5,
    head_bytes=1000,
    head_seconds=0.4,
    body_seconds=0.4,
    body_bytes=100,
    unread_seconds=0.4,
    linger_seconds=0.5,
    linger_bytes=100_000,
    spare=20,
)
GET = b"GET /x HTTP/1.1\r\nHost: here\r\n\r\n"


@dataclass(slots=True)
class Application:
    """Answers with the number of bytes of the body, or 401 before it has read any, where the path is ``/closed``."""

    port: int = 0
    requests: int = 0
    ended_early: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    refusal: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.requests += 1
        self.headers = [name.decode() for name, _ in scope["headers"]]
        if scope["path"] == "/slow":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": bytes(10_000_000), "more_body": True})
            await asyncio.sleep(3 * LIMITS.unread_seconds)
            await send({"type": "http.response.body", "body": b"end"})
            return
        if scope["path"] == "/large":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(1000):
                await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        status, size = (401, 0) if scope["path"] == "/closed" else (200, 0)
        more = status == 200
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            more = message["more_body"]
        if scope["path"] in {"/later", "/finished"}:
            try:
                await self.may_answer.wait()
            except asyncio.CancelledError:
                self.ended_early.append(scope["path"])
                raise
        said = str(size).encode()
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-length", b"%d" % len(said))]}
        )
        await send({"type": "http.response.body", "body": said})

    async def exchange(self, *sent: bytes, pause: float = 0.0) -> bytes:
        """Send and return what is answered until the server ends the connection."""
        async with self.connection() as (reader, writer):
            for part in sent:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(pause)
            return await reader.read()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    @asynccontextmanager
    async def all_busy(self) -> AsyncIterator[None]:
        """Have a request under way on every connection that there may be."""
        opened = [await asyncio.open_connection("127.0.0.1", self.port) for _ in range(LIMITS.of_one_address)]
        for _, writer in opened:
            writer.write(b"GET /later HTTP/1.1\r\nHost: here\r\n\r\n")
        while self.requests < len(opened):
            await asyncio.sleep(0.01)
        yield
        for _, writer in opened:
            writer.transport.abort()

    async def serves(self) -> bool:
        """Tell whether somebody else is answered."""
        async with self.connection() as (reader, writer):
            writer.write(GET)
            async with asyncio.timeout(10):
                return await answer(reader) == (200, b"0")


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read one answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return int(head.split()[1]), await reader.readexactly(int(lengths[0]))


async def flood(writer: asyncio.StreamWriter, part: bytes, most: int) -> int:
    """Send the same again and again until the server ends the connection; return how many bytes went out."""
    sent = 0
    try:
        while sent < most:
            writer.write(part)
            sent += len(part)
            await writer.drain()
    except ConnectionError:
        return sent
    return most


def problem(raw: bytes) -> tuple[int, str]:
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert b"connection: close" in head
    return int(head.split()[1]), json.loads(body)["code"]


@pytest.fixture
async def application() -> AsyncIterator[Application]:
    application = Application()
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            port=0,
            http=guarded(LIMITS, finished={"/finished"}, always={"/healthz"}, refusal=lambda _: application.refusal),
            ws="none",
            log_config=None,
            lifespan="off",
        )
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    application.port = server.servers[0].sockets[0].getsockname()[1]
    yield application
    application.may_answer.set()
    server.should_exit = True
    await serving


async def test_requests_one_after_another_share_a_connection(application: Application) -> None:
    async with application.connection() as (reader, writer):
        for size in (0, 5, 3000):
            writer.write(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
            assert await answer(reader) == (200, b"%d" % size)


async def test_a_body_in_chunks_is_read_whole(application: Application) -> None:
    chunks = b"".join(b"1\r\nx\r\n" for _ in range(500)) + b"0\r\n\r\n"
    async with application.connection() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        assert await answer(reader) == (200, b"500")


async def test_a_request_sent_ahead_of_an_answer_ends_the_connection_after_that_answer(
    application: Application,
) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"GET /later HTTP/1.1\r\nHost: here\r\n\r\n" + GET * 50)
        await asyncio.sleep(0.1)
        assert application.requests == 1
        application.may_answer.set()
        assert await answer(reader) == (200, b"0")
        assert await reader.read() == b""
    assert application.requests == 1
    assert await application.serves()


@pytest.mark.parametrize(
    "head",
    [
        GET[:-2] + b"X-Long: " + b"x" * 5000,
        GET[:-2] + b"X-A: b\r\n" * 1000,
        b"GET /" + b"x" * 5000,
        GET[:-2] + b"X: y\r\n" * 200 + b"\r\n",
    ],
    ids=["one header", "many headers", "the path", "complete"],
)
async def test_a_head_over_its_limit_is_refused(application: Application, head: bytes) -> None:
    refused = await application.exchange(head)
    assert problem(refused) == (431, "headers_too_large")
    (request_id,) = re.findall(rb"\r\nx-request-id: ([0-9a-f]{32})\r\n", refused)
    assert b'"request_id":"%s"' % request_id in refused, "the Worker in front tells by it that the service answers"
    assert application.requests == 0


async def test_a_head_of_very_many_bytes_is_not_read_to_its_end(application: Application) -> None:
    async with application.connection() as (_, writer):
        writer.write(GET[:-2])
        assert await flood(writer, b"X-Long: " + b"x" * 100_000 + b"\r\n", 50_000_000) < 20_000_000
    assert application.requests == 0


async def test_a_head_that_does_not_end_in_time_is_refused(application: Application) -> None:
    drops = [GET[:-2], *(b"X-A: b\r\n" for _ in range(20))]
    assert problem(await application.exchange(GET[:-2])) == (408, "request_timeout")
    with pytest.raises(ConnectionError):
        await application.exchange(*drops, pause=0.1)


async def test_the_second_head_of_a_connection_has_the_same_time(application: Application) -> None:
    async with application.connection() as (reader, writer):
        writer.write(GET)
        assert await answer(reader) == (200, b"0")
        writer.write(GET[:10])
        assert problem(await reader.read()) == (408, "request_timeout")


async def test_a_connection_that_says_nothing_is_closed(application: Application) -> None:
    assert await application.exchange() == b""


async def test_a_body_that_does_not_come_is_refused(application: Application) -> None:
    head = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5000\r\n\r\n"
    assert problem(await application.exchange(head + b"x")) == (408, "request_timeout")
    assert await application.serves()


async def test_a_body_that_comes_slowly_but_fast_enough_is_taken(application: Application) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2000\r\n\r\n")
        for _ in range(10):
            await asyncio.sleep(0.1)
            writer.write(b"x" * 200)
        assert await answer(reader) == (200, b"2000")


@pytest.mark.parametrize("behind", [b"", b"\r\n"], ids=["nothing", "a line end"])
async def test_an_answer_that_takes_long_is_no_request_that_is_late(application: Application, behind: bytes) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"POST /later HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\nab")
        await asyncio.sleep(0.1)
        writer.write(behind)
        await asyncio.sleep(0.8)
        application.may_answer.set()
        assert await answer(reader) == (200, b"2")


async def test_chunks_that_hold_next_to_nothing_are_refused(application: Application) -> None:
    head = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    told = await application.exchange(head + b"1;" + b"e" * 5000 + b"\r\nx\r\n")
    assert problem(told) == (400, "malformed_http")


async def test_a_body_behind_a_refusal_is_not_read(application: Application) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"POST /closed HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000000\r\n\r\n")
        assert await answer(reader) == (401, b"0")
        assert await flood(writer, b"x" * 100_000, 100_000_000) < 20_000_000


async def test_a_whole_answer_is_read_though_a_body_was_on_its_way(application: Application) -> None:
    head = b"POST /closed HTTP/1.1\r\nHost: here\r\nContent-Length: 90000\r\n\r\n"
    told = await application.exchange(head + b"x" * 60_000, b"x" * 20_000, pause=0.05)
    assert told.endswith(b"\r\n\r\n0")


async def test_a_caller_whose_body_is_not_awaited_is_told_that_the_connection_ends(application: Application) -> None:
    head = b"POST /closed HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\n"
    assert (await application.exchange(head)).lower().count(b"\r\nconnection: close\r\n") == 1
    async with application.connection() as (reader, writer):
        writer.write(head + b"whole")
        assert b"connection: close" not in (await reader.readuntil(b"\r\n\r\n")).lower()


@pytest.mark.parametrize(
    "behind", [b"Content-Length: 5\r\n\r\n", b"\r\n" + GET], ids=["a body", "a request sent ahead"]
)
async def test_an_answer_without_a_body_is_sent_before_the_connection_ends(
    application: Application, behind: bytes
) -> None:
    told = await application.exchange(b"HEAD /closed HTTP/1.1\r\nHost: here\r\n" + behind)
    assert told.startswith(b"HTTP/1.1 401 ")
    assert told.endswith(b"\r\n\r\n")


async def test_what_is_not_http_is_told_so(application: Application) -> None:
    assert problem(await application.exchange(b"\x16\x03\x01 hello\r\n\r\n")) == (400, "malformed_http")


async def test_connections_that_wait_give_way_to_new_ones(application: Application) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", application.port) for _ in range(20)]
    try:
        assert await application.serves()
    finally:
        for _, writer in opened:
            writer.transport.abort()


async def test_connections_that_are_answered_give_way_to_none(application: Application) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", application.port) for _ in range(LIMITS.of_one_address)]
    try:
        for _, writer in opened:
            writer.write(b"GET /later HTTP/1.1\r\nHost: here\r\n\r\n")
        while application.requests < len(opened):
            await asyncio.sleep(0.01)
        assert problem(await application.exchange()) == (503, "too_many_connections")
        application.may_answer.set()
        for reader, _ in opened:
            assert await answer(reader) == (200, b"0")
        assert await application.serves()
    finally:
        for _, writer in opened:
            writer.transport.abort()


async def test_work_for_a_caller_who_has_gone_ends_unless_it_is_to_be_finished(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    for path in (b"/later", b"/finished"):
        async with application.connection() as (_, writer):
            writer.write(b"GET %s HTTP/1.1\r\nHost: here\r\n\r\n" % path)
            await writer.drain()
            await asyncio.sleep(0.1)
    while not application.ended_early:
        await asyncio.sleep(0.01)
    assert application.requests == 2
    assert await application.serves()
    assert application.ended_early == ["/later"]
    assert not caplog.records


async def test_an_answer_that_nobody_reads_is_given_up(application: Application) -> None:
    async with application.connection() as (reader, writer):
        reader._transport.pause_reading()  # type: ignore[attr-defined]  # noqa: SLF001 - no more than the buffers hold
        writer.write(b"GET /large HTTP/1.1\r\nHost: here\r\n\r\n")
        await asyncio.sleep(1)
        reader._transport.resume_reading()  # type: ignore[attr-defined]  # noqa: SLF001
        try:
            received = len(await reader.read(-1))
        except ConnectionError:
            received = 0
        assert received < 100_000_000
    assert await application.serves()


async def test_an_answer_that_is_read_slowly_is_sent_whole(application: Application) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"GET /large HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        read = 0
        for _ in range(12):
            read += len(await reader.readexactly(1_000_000))
            await asyncio.sleep(0.1)
        assert read == 12_000_000


async def test_an_answer_that_is_read_at_once_and_made_slowly_is_sent_whole_though_a_request_was_sent_ahead(
    application: Application,
) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"GET /slow HTTP/1.1\r\nHost: here\r\n\r\n")
        await reader.readexactly(1000)
        writer.write(GET)
        async with asyncio.timeout(10):
            read = await reader.read()
    assert read.endswith(b"0\r\n\r\n")
    assert b"end" in read[-100:]


async def test_trailers_are_no_headers_and_few(application: Application) -> None:
    head = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    async with application.connection() as (reader, writer):
        writer.write(head + body + b"0\r\nAuthorization: Bearer x\r\n\r\n")
        assert await answer(reader) == (200, b"1000")
        assert application.headers == ["host", "transfer-encoding"]
    told = await application.exchange(head + body * 5 + b"0\r\n", b"a: b\r\n" * 1000, pause=0.1)
    assert problem(told) == (400, "malformed_http")


async def test_work_that_is_to_be_finished_counts_though_its_caller_has_gone(application: Application) -> None:
    for _ in range(LIMITS.of_one_address):
        async with application.connection() as (_, writer):
            writer.write(b"GET /finished HTTP/1.1\r\nHost: here\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)
    assert problem(await application.exchange()) == (503, "too_many_connections")
    application.may_answer.set()
    await asyncio.sleep(0.1)
    assert await application.serves()


async def test_a_request_that_would_change_the_protocol_is_answered_whole(application: Application) -> None:
    async with application.connection() as (reader, writer):
        writer.write(b"GET /x HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
        assert await answer(reader) == (200, b"0")
        assert await reader.read() == b""


_UPGRADE = b"POST /x HTTP/1.1\r\nHost: here\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"


@pytest.mark.parametrize(
    "parts",
    [
        [_UPGRADE + b"Content-Length: 5\r\n\r\nhello"],
        [_UPGRADE + b"Content-Length: 5\r\n\r\n", b"he", b"llo"],
        [_UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", b"2\r\nlo\r\n0\r\n\r\n"],
        [_UPGRADE + b"Content-Length: 5\r\n\r\nhello" + _UPGRADE + b"Content-Length: 3\r\n\r\nbye"],
    ],
)
async def test_the_body_of_a_request_that_would_change_the_protocol_is_read(
    application: Application, parts: list[bytes]
) -> None:
    async with application.connection() as (reader, writer):
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.05)
        assert await answer(reader) == (200, b"5")
        assert await reader.read() == b""


async def test_the_body_of_a_request_that_would_change_the_protocol_has_its_time(application: Application) -> None:
    told = await application.exchange(_UPGRADE + b"Content-Length: 5\r\n\r\nhe")
    assert problem(told) == (408, "request_timeout")


async def test_one_too_many_whose_request_has_been_sent_gets_an_answer_and_no_reset(application: Application) -> None:
    async with application.all_busy():
        body = b"x" * 50_000
        sent = b"POST /x HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        answers = await asyncio.gather(*(application.exchange(sent) for _ in range(10)))
        assert {problem(each) for each in answers} == {(503, "too_many_connections")}
        assert all(b"retry-after: " in each for each in answers)


async def test_some_paths_are_answered_on_a_connection_too_many(application: Application) -> None:
    async with application.all_busy():
        told = await application.exchange(b"GET /healthz?x=1 HTTP/1.1\r\nHost: here\r\n\r\n")
        assert told.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in told


async def test_a_connection_that_gives_way_is_told_so_where_its_request_is_on_the_way(application: Application) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", application.port) for _ in range(LIMITS.of_one_address)]
    for reader, writer in opened:
        writer.write(GET)
        assert await answer(reader) == (200, b"0")
    async with application.connection() as (reader, writer):  # the first of them gives way to it
        writer.write(b"GET /later HTTP/1.1\r\nHost: here\r\n\r\n")
        while application.requests < len(opened) + 1:
            await asyncio.sleep(0.01)
        opened[0][1].write(GET)
        assert problem(await opened[0][0].read()) == (503, "too_many_connections")
        application.may_answer.set()
    for _, writer in opened:
        writer.transport.abort()


async def test_of_connections_too_many_the_oldest_ends_at_once(application: Application) -> None:
    async with application.all_busy():
        silent = [await asyncio.open_connection("127.0.0.1", application.port) for _ in range(LIMITS.spare + 5)]
        assert await silent[0][0].read() == b""
        assert problem(await silent[-1][0].read()) == (503, "too_many_connections")
        for _, writer in silent:
            writer.transport.abort()


async def test_a_request_that_is_refused_when_it_comes_leaves_the_connection_open(application: Application) -> None:
    application.refusal = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy"
    async with application.connection() as (reader, writer):
        writer.write(b"POST /x HTTP/1.1\r\nHost: here\r\nContent-Length: 3000\r\n\r\n" + b"x" * 3000)
        assert await answer(reader) == (503, b"busy")
        application.refusal = None
        writer.write(GET)
        assert await answer(reader) == (200, b"0")
    assert application.requests == 1
