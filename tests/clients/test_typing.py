"""What a type checker knows of both clients: mypy holds every ``assert_type`` here, and the service what it answers."""

from collections.abc import Coroutine
from datetime import datetime
from typing import Any, assert_type

import anyio.to_thread
import httpx

from memory_gateway_client import (
    AgentSettings,
    AsyncMemoryClient,
    Entry,
    Explanation,
    MemoryClient,
    Operation,
    Page,
    Recall,
    Stored,
    Usages,
)
from tests.support.service import Service


def used(client: MemoryClient) -> Recall:
    assert_type(client.store("The sky is blue", metadata={"a": 1}), Stored)
    recall = assert_type(client.recall("sky", top_k=3), Recall)
    entry = assert_type(recall.entries[0], Entry)
    assert_type(entry.created_at, datetime)
    assert_type(client.explain("sky", entry.id), Explanation)
    assert_type(client.list_memories(limit=1), Page)
    assert_type(client.usage(), Usages)
    assert_type(client.set_agent(retention_days=None), AgentSettings)
    client.delete_memory(entry.id)
    assert_type(client.operation(assert_type(client.erase_agent("other"), Operation).id).status, str)
    return recall


async def used_from_asyncio(client: AsyncMemoryClient) -> Recall:
    assert_type(await client.store("The sky is blue"), Stored)
    asked = assert_type(client.recall("sky", top_k=3), Coroutine[Any, Any, Recall])
    recall = assert_type(await asked, Recall)
    assert_type(await client.explain("sky", recall.entries[0].id), Explanation)
    await client.delete_memory(recall.entries[0].id)
    return recall


async def refused(client: MemoryClient, aclient: AsyncMemoryClient) -> None:
    """Make calls that a type checker refuses, and nobody runs; an ignore without need would be an error of its own."""
    client.recall()  # type: ignore[call-arg]
    client.recall("sky", "bot")  # type: ignore[call-arg]
    client.recall("sky", k=3)  # type: ignore[call-arg]
    client.recall("sky", top_k="3")  # type: ignore[arg-type]
    client.erase_agent()  # type: ignore[call-arg]
    client.aclose()  # type: ignore[attr-defined]
    await aclient.store(content=1)  # type: ignore[arg-type]
    aclient.recall("sky").entries  # type: ignore[attr-defined]  # noqa: B018
    MemoryClient(http=httpx.AsyncClient())  # type: ignore[arg-type]


async def test_what_the_types_say_is_what_is_answered(url: str, service: Service) -> None:
    token = service.credential(admin=True)["Authorization"].removeprefix("Bearer ")
    with MemoryClient(url, token, agent_id="bot") as client:
        waited = await anyio.to_thread.run_sync(used, client)
    async with AsyncMemoryClient(url, token, agent_id="bot") as aclient:
        awaited = await used_from_asyncio(aclient)
    assert waited.entries[0].content == awaited.entries[0].content == "The sky is blue"
