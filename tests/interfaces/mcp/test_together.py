"""Many calls at once: each is answered with its own, and nothing is lost or told to another."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from mcp.client.client import Client

from tests.interfaces.mcp.agreement import agreed
from tests.interfaces.mcp.answers import answered, contents
from tests.interfaces.mcp.connections import MODES, listening, over_http, over_stdio
from tests.support.generation import LONG
from tests.support.service import serving

pytestmark = pytest.mark.thorough

AGENTS = [(tenant, agent) for tenant in ("acme", "bolt") for agent in ("ann", "bob")]
CALLS = 50 if LONG else 20


def words(number: int, tenant: str, agent: str) -> str:
    return f"number {number} of {tenant} {agent}"


async def asked(client: Client, number: int, tenant: str, agent: str) -> None:
    """Store, and meanwhile recall what is the agent's alone."""
    content = words(number, tenant, agent)
    stored, found = await asyncio.gather(
        answered(client, "store_memory", content=content, metadata={"number": number}),
        contents(client, f"of {tenant} {agent}", top_k=20),
    )
    assert stored == {"stored": True}
    assert all(entry.endswith(f"of {tenant} {agent}") for entry in found)
    assert await contents(client, content, filter={"metadata": {"number": number}}) == [content]


async def test_over_http_each_agent_of_each_tenant_is_answered_with_its_own(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with serving(data_dir) as service, AsyncExitStack() as stack:
        clients = {
            (tenant, agent, mode): await stack.enter_async_context(
                over_http(service, service.credential(tenant, agent=agent), mode)
            )
            for tenant, agent in AGENTS
            for mode in MODES.values()
        }
        callers = [(n, *caller) for n, caller in zip(range(CALLS), list(clients) * CALLS, strict=False)]
        await asyncio.gather(
            *(asked(clients[tenant, agent, mode], n, tenant, agent) for n, tenant, agent, mode in callers)
        )
    assert Counter(await agreed(data_dir)) == Counter(
        (tenant, agent, words(n, tenant, agent)) for n, tenant, agent, _ in callers
    )


async def test_over_one_connection_of_the_command_each_call_has_its_own_answer(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with over_stdio(data_dir, "--tenant", "acme", "--agent", "ann") as client:
        await asyncio.gather(*(asked(client, n, "acme", "ann") for n in range(CALLS)))
    assert Counter(await agreed(data_dir)) == Counter(("acme", "ann", words(n, "acme", "ann")) for n in range(CALLS))


async def test_over_one_connection_of_the_command_that_passes_on_too(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with serving(data_dir) as service, listening(service.app) as url:
        token = service.credential(agent="ann")["Authorization"].removeprefix("Bearer ")
        async with over_stdio(data_dir, "--url", url, MEMORY_GATEWAY_TOKEN=token) as client:
            await asyncio.gather(*(asked(client, n, "acme", "ann") for n in range(CALLS)))
    assert Counter(await agreed(data_dir)) == Counter(("acme", "ann", words(n, "acme", "ann")) for n in range(CALLS))
