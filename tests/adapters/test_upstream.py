"""Calls over real connections on this machine: bounded in time, every failure to be reached mapped."""

import asyncio
import gzip

import httpx
import pytest

from app.adapters.upstream import Call, Upstream
from app.domain.errors import RateLimited, UpstreamRejected, UpstreamTimeout, UpstreamUnavailable
from app.observability.metrics import Metrics
from tests.adapters.replies import BODY, CALL, Reply, done, drips, failed, hangs, http, serving, upstream_of
from tests.observability.samples import calls


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
    # Long enough for a busy machine to connect: else the second call would meet what waits for the first.
    seconds = 0.5 if by == "the service's" else 5.0
    call = CALL if by == "the service's" else Call("thing.do", "POST", "/thing", b"{}", seconds=0.5)
    async with serving(reply, done) as service, upstream_of(service.url, seconds=seconds) as upstream:
        error = await failed(upstream, call)
        assert type(error) is UpstreamTimeout
        assert error.detail == "Thing did not answer thing.do in time."
        assert (await upstream.send(Call("thing.do", "GET", "/thing", seconds=5.0))).content == BODY
        assert service.connections == 2


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
        with upstream.measured(Call("thing.do", "GET", "/")):
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(type(error)):
            work()
    assert calls(metrics) == {("thing.do", outcome): 1}
