"""The first messages to a server, which load the protocol's SDK."""

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.interfaces.mcp.connections import over_http
from tests.support.service import Service, serving


async def tools_of(service: Service) -> list[str]:
    async with over_http(service, service.credential()) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


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
