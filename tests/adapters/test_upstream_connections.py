"""Which connection a call takes, and what becomes of it when the call ends, well or not."""

import asyncio
from contextlib import suppress

import httpx
import pytest

from app.adapters.upstream import Call, Upstream
from app.domain.errors import UpstreamTimeout
from tests.adapters.replies import BODY, CALL, Reply, done, failed, hangs, http, serving, upstream_of


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


async def test_a_call_that_its_caller_leaves_gives_its_connection_up() -> None:
    async with serving(hangs, done) as service, upstream_of(service.url) as upstream:
        task = asyncio.create_task(upstream.send(CALL))
        while not service.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await upstream.send(CALL)).content == BODY


async def cut_off(upstream: Upstream, after: int, cancels: int) -> None:
    """Leave a call after so many steps of the loop, once or again while it is being left."""
    task = asyncio.create_task(upstream.send(CALL))
    for _ in range(after):
        await asyncio.sleep(0)
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("kept", [False, True], ids=["a new connection", "a kept one"])
@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_call_left_at_any_moment_leaves_no_connection_that_answers_nothing(cancels: int, *, kept: bool) -> None:
    async with serving(done) as service:
        for steps in range(16):
            async with upstream_of(service.url, seconds=1.0) as upstream:
                if kept:
                    await upstream.send(CALL)
                await cut_off(upstream, steps, cancels)
                for _ in range(3):
                    assert (await upstream.send(CALL)).content == BODY, steps
        async with asyncio.timeout(2):
            while service.open:
                await asyncio.sleep(0.01)


async def numbered(writer: asyncio.StreamWriter, number: int, after: asyncio.Event) -> None:
    await after.wait()
    writer.write(http(str(number).encode()))


async def cut_off_after_sending(how: str, seconds: float) -> bool:
    """Cut a call off whose answer comes right after, then make others; tell whether it was sent before its deadline."""
    at_once, is_cut_off = asyncio.Event(), asyncio.Event()
    at_once.set()
    replies: list[Reply] = [
        lambda writer: numbered(writer, 0, at_once),
        lambda writer: numbered(writer, 1, is_cut_off),
        lambda writer: numbered(writer, 2, at_once),
        lambda writer: numbered(writer, 3, at_once),
    ]
    async with serving(*replies) as service, upstream_of(service.url) as upstream:
        assert (await upstream.send(CALL)).content == b"0"
        cut = Call("thing.do", "POST", "/thing", b"{}", seconds=seconds if how == "its deadline" else None)
        task = asyncio.create_task(upstream.send(cut))
        while service.requests < 2 and not task.done():
            await asyncio.sleep(0.001)
        if service.requests < 2:
            return False
        for _ in range({"its caller": 1, "its caller, twice": 2}.get(how, 0)):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises((UpstreamTimeout, asyncio.CancelledError)):
            await task
        is_cut_off.set()
        assert [(await upstream.send(CALL)).content for _ in range(2)] == [b"2", b"3"]
        assert (service.connections, len(service.open)) == (2, 1)
        return True


@pytest.mark.parametrize("how", ["its deadline", "its caller", "its caller, twice"])
async def test_no_call_reads_the_answer_of_one_that_was_cut_off(how: str) -> None:
    """On the same connection the next call would take it for its own.

    A short deadline that is over before the service has read the request proves nothing: it is tried with a longer one.
    """
    for seconds in (0.03, 0.3, 3.0):
        if await cut_off_after_sending(how, seconds):
            return
    pytest.fail("The service read no request before its deadline.")


async def test_whoever_cuts_a_call_off_does_not_cut_the_closing_of_its_connection_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    close = httpx.AsyncHTTPTransport.aclose

    async def slowly(client: httpx.AsyncHTTPTransport) -> None:
        await asyncio.sleep(0.05)
        await close(client)
        closed.append(client)

    closed: list[httpx.AsyncHTTPTransport] = []
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "aclose", slowly)
    async with serving(hangs, done) as service, upstream_of(service.url) as upstream:
        task = asyncio.create_task(upstream.send(CALL))
        while not service.requests:
            await asyncio.sleep(0.001)
        for _ in range(5):
            task.cancel()
            await asyncio.sleep(0.005)
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(2):
            while not closed:
                await asyncio.sleep(0.005)
        assert (await upstream.send(CALL)).content == BODY


async def test_a_connection_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.adapters.upstream._IDLE_SECONDS", 0.05)
    async with serving(done) as service, upstream_of(service.url) as upstream:
        await upstream.send(CALL)
        await asyncio.sleep(0.1)
        assert (await upstream.send(CALL)).content == BODY
        assert service.connections == 2
        assert len(service.open) == 1


async def test_a_connection_not_needed_for_long_is_closed_when_another_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.adapters.upstream._IDLE_SECONDS", 0.2)
    async with serving(done) as service, upstream_of(service.url) as upstream:
        await asyncio.gather(*(upstream.send(CALL) for _ in range(4)))
        async with asyncio.timeout(3):
            while len(service.open) > 1:
                await asyncio.sleep(0.05)
                await upstream.send(CALL)
        assert service.connections == 4


async def test_an_error_status_is_an_answer_and_keeps_its_connection() -> None:
    async def refuses(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")

    async with serving(refuses) as service, upstream_of(service.url) as upstream:
        assert [(await upstream.send(CALL)).status_code for _ in range(3)] == [500] * 3
        assert service.connections == 1


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


async def test_a_proxy_that_the_environment_names_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(done) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with upstream_of("http://service.invalid") as upstream:
            assert (await upstream.send(CALL)).content == BODY
    assert proxy.heads[0].startswith(b"POST http://service.invalid/")


async def test_a_user_in_the_address_of_a_service_is_told_to_it() -> None:
    async with serving(done) as service, upstream_of(service.url.replace("://", "://ann:secret@")) as upstream:
        assert (await upstream.send(CALL)).content == BODY
    assert b"Basic YW5uOnNlY3JldA==" in service.heads[0]
