"""A graph with the tools and the store, against the running service."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

from memory_gateway_client import AsyncMemoryClient, MemoryClient
from memory_gateway_client.adapters.langgraph import memory_tools
from memory_gateway_client.adapters.langgraph.conftest import Connect
from memory_gateway_client.adapters.langgraph.example import State, graph
from tests.support.service import Service


async def say(client: MemoryClient, text: str, *, awaited: bool) -> str:
    built, state = graph(client), State(messages=[HumanMessage(text)], conversation=0)
    done = await built.ainvoke(state) if awaited else await asyncio.to_thread(built.invoke, state)
    answer: str = done["messages"][-1].text
    return answer


# The service runs in this event loop: it could not answer a call that blocks it.
@pytest.mark.parametrize("awaited", [False, True])
async def test_a_graph_recalls_and_counts_across_its_runs(connect: Connect, *, awaited: bool) -> None:
    client = connect(agent="bot", admin=False)
    assert await say(client, "ask where Ann lives", awaited=awaited) == (
        "I remember nothing of it. (This is our conversation 1.)"
    )
    assert await say(client, "remember Ann lives in Lund", awaited=awaited) == (
        "I will remember it. (This is our conversation 2.)"
    )
    assert await say(client, "ask where Ann lives", awaited=awaited) == (
        "Ann lives in Lund (This is our conversation 3.)"
    )


async def test_a_failed_call_is_told_to_the_model(client: MemoryClient, service: Service, url: str) -> None:
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    call: dict[str, Any] = {"type": "tool_call", "id": "1", "name": "store_memory", "args": {"content": " "}}
    async with AsyncMemoryClient(url, token, agent_id="bot") as awaited:
        for used in (client, awaited):
            message = await memory_tools(used)[1].ainvoke(call)
            assert isinstance(message, ToolMessage)
            assert message.status == "error"
            assert "must not be blank" in message.text


def test_a_client_that_is_awaited_or_has_no_agent_is_refused_where_it_cannot_serve() -> None:
    recall, _ = memory_tools(AsyncMemoryClient(token="none", agent_id="bot"))
    with pytest.raises(NotImplementedError, match="use ainvoke, or give a MemoryClient"):
        recall.invoke({"query": "Ann"})
    with pytest.raises(ValueError, match="MEMORY_GATEWAY_AGENT"):
        memory_tools(MemoryClient(token="none"))
