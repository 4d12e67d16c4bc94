"""A call that nobody waits for any more leaves a whole memory or none, and a server that goes on serving."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client

from memory_gateway_double.faults import Fault
from tests.interfaces.mcp.agreement import agreed
from tests.interfaces.mcp.answers import answered, contents
from tests.interfaces.mcp.connections import Transport, connected, listening, over_stdio
from tests.interfaces.mcp.gate import MOMENTS, Gate
from tests.process.server import until
from tests.support.backends import running_on
from tests.support.service import Service, serving

pytestmark = pytest.mark.thorough

CANCELLED = [f"{'after' if moment.done else 'before'} {moment.step}" for moment in MOMENTS]


async def cancelled(client: Client, content: str, reached: Callable[[], Awaitable[None]]) -> None:
    """Store, and give up as soon as a moment is reached."""
    store = asyncio.create_task(client.call_tool("store_memory", {"content": content}))
    await reached()
    store.cancel()
    with pytest.raises(asyncio.CancelledError):
        await store


@pytest.mark.parametrize("transport", ["http auto", "http handshake", "http modern", "stdio passing on"])
async def test_a_store_that_is_cancelled_leaves_a_whole_memory_or_none(tmp_path: Path, transport: Transport) -> None:
    gate, data_dir = Gate(), tmp_path / "data"
    async with (
        serving(data_dir, change=gate.change) as service,
        connected(transport, service, data_dir) as client,
    ):
        for moment, content in zip(MOMENTS, CANCELLED, strict=True):
            gate.hold(moment)
            await cancelled(client, content, gate.reached)
            gate.open()
            await answered(client, "store_memory", content=f"stored {content}")
            assert f"stored {content}" in await contents(client, f"stored {content}")
    held = [content for *_, content in await agreed(data_dir)]
    assert len(set(held)) == len(held)
    assert {f"stored {content}" for content in CANCELLED} <= set(held)
    assert {content for moment, content in zip(MOMENTS, CANCELLED, strict=True) if moment.kept} <= set(held)


async def test_a_client_that_goes_away_has_its_memory_stored(tmp_path: Path) -> None:
    gate, data_dir = Gate(), tmp_path / "data"
    async with serving(data_dir, change=gate.change) as service, listening(service.app) as url:
        for moment, content in zip(MOMENTS, CANCELLED, strict=True):
            gate.hold(moment)
            await gone(f"{url}/mcp", service, content, gate)
            gate.open()

            async def is_there(content: str = content) -> bool:
                return content in await service.contents(content)

            await until(is_there)
    assert sorted(content for *_, content in await agreed(data_dir)) == sorted(CANCELLED)


async def gone(url: str, service: Service, content: str, gate: Gate) -> None:
    """Ask for a store and close the connection when it has reached the gate."""
    call = {"name": "store_memory", "arguments": {"content": content}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    async with httpx.AsyncClient(headers=service.credential(agent="bot"), trust_env=False) as client:
        asked = asyncio.create_task(client.post(url, json=message, headers={"Accept": "application/json"}))
        await gate.reached()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked


async def test_a_store_cancelled_while_the_command_waits_for_an_upstream_is_whole_or_absent(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with running_on("cloudflare") as backend:
        settings = {name.upper(): str(value) for name, value in backend.settings(data_dir).items() if value != {}}
        double = backend.doubles[data_dir].double
        async with over_stdio(data_dir, "--tenant", "acme", "--agent", "bot", **settings) as client:
            double.reset_calls()
            double.faults.add(Fault("d1.query", kind="hang", times=None))  # the indexer's calls too

            async def hangs() -> bool:
                return double.calls().get("d1.query", 0) > 0

            await cancelled(client, "cancelled", lambda: until(hangs))
            double.faults.clear()
            await answered(client, "store_memory", content="stored after it")
        held = {content for *_, content in await agreed(data_dir, backend)}
    # Where the indexer's call was the one that hung, the first store was cancelled elsewhere, and may be held.
    assert {"stored after it"} <= held <= {"stored after it", "cancelled"}


async def test_many_calls_cancelled_at_any_moment_leave_whole_memories(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with over_stdio(data_dir, "--tenant", "acme", "--agent", "bot") as client:
        for n in range(40):
            store = asyncio.create_task(client.call_tool("store_memory", {"content": f"number {n}"}))
            await asyncio.sleep(0.0002 * n)  # a store takes some milliseconds
            store.cancel()
            await asyncio.gather(store, return_exceptions=True)
        await answered(client, "store_memory", content="the last")
    held = [content for *_, content in await agreed(data_dir)]
    assert "the last" in held
    assert len(set(held)) == len(held)
