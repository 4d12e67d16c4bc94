"""The first messages to a server, which load the protocol's SDK."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from tests.interfaces.mcp.connections import over_http
from tests.support.service import Service, serving


async def tools_of(service: Service) -> list[str]:
    async with over_http(service, service.credential()) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def status_of(service: Service) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return (await service.client.post("/mcp", json=body, headers=service.credential())).status_code


async def test_first_messages_that_come_together_are_all_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        together = await asyncio.gather(*(tools_of(service) for _ in range(5)))
        assert "recall_memory" in together[0]
        assert together == [together[0]] * 5


async def test_a_first_message_that_is_given_up_keeps_no_later_one_waiting(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for turns in range(1, 60, 3):  # given up at every step of its way
            first = asyncio.create_task(tools_of(service))
            for _ in range(turns):
                await asyncio.sleep(0)
            first.cancel()
            with suppress(asyncio.CancelledError):
                await first
        assert "recall_memory" in await tools_of(service)


async def test_a_server_that_was_asked_nothing_over_mcp_ends(tmp_path: Path) -> None:
    async with asyncio.timeout(20), serving(tmp_path) as service:
        await service.store("Ann drinks green tea.")


async def test_messages_that_wait_for_sessions_which_do_not_begin_get_an_error_and_later_ones_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = StreamableHTTPSessionManager.run
    attempts: list[bool] = []

    @asynccontextmanager
    async def run(manager: StreamableHTTPSessionManager) -> AsyncIterator[None]:
        attempts.append(True)
        if len(attempts) == 1:
            await asyncio.sleep(0.05)  # so that others wait too
            raise RuntimeError("no sessions begin")
        async with begin(manager):
            yield

    monkeypatch.setattr(StreamableHTTPSessionManager, "run", run)
    async with asyncio.timeout(20), serving(tmp_path) as service:
        assert await asyncio.gather(*(status_of(service) for _ in range(3))) == [500] * 3
        assert "recall_memory" in await tools_of(service)
    assert len(attempts) == 2


async def test_a_server_that_ends_while_the_first_message_loads_the_sessions_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = asyncio.Event()

    @asynccontextmanager
    async def run(_: StreamableHTTPSessionManager) -> AsyncIterator[None]:
        begins.set()
        await asyncio.Event().wait()
        yield

    monkeypatch.setattr(StreamableHTTPSessionManager, "run", run)
    async with asyncio.timeout(20):
        async with serving(tmp_path) as service:
            first = asyncio.create_task(status_of(service))
            await begins.wait()
        assert await first == 503
