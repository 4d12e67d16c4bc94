"""The tools as LangChain's agents use them, against the running service."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from memory_gateway_client import AsyncMemoryClient, MemoryClient
from memory_gateway_client.adapters.langchain import memory_tools
from memory_gateway_client.adapters.langchain.example import ScriptedModel
from memory_gateway_client.tools import definitions
from tests.support.service import Service

WAYS = ["called", "awaited in a thread", "awaited"]


class Used:
    """The tools of a client, called or awaited."""

    def __init__(self, way: str, client: MemoryClient | AsyncMemoryClient) -> None:
        self.tools = memory_tools(client)
        self.called = way == "called"

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolMessage:
        """Call a tool as an agent does."""
        (tool,) = (each for each in self.tools if each.name == name)
        call = {"type": "tool_call", "id": "call-1", "name": name, "args": arguments}
        message = await asyncio.to_thread(tool.invoke, call) if self.called else await tool.ainvoke(call)
        assert isinstance(message, ToolMessage)
        return message

    async def say(self, text: str) -> str:
        """Let an agent answer."""
        agent = create_agent(ScriptedModel(), self.tools)
        said: Any = {"messages": [HumanMessage(text)]}
        done = await asyncio.to_thread(agent.invoke, said) if self.called else await agent.ainvoke(said)
        answer: str = done["messages"][-1].text
        return answer


@asynccontextmanager
async def using(way: str, url: str, token: str, **settings: Any) -> AsyncIterator[Used]:
    if way == "awaited":
        async with AsyncMemoryClient(url, token, agent_id="bot", **settings) as async_client:
            yield Used(way, async_client)
    else:
        with MemoryClient(url, token, agent_id="bot", **settings) as client:
            yield Used(way, client)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def token(service: Service) -> str:
    return service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")


@pytest.fixture
async def used(way: str, url: str, token: str) -> AsyncIterator[Used]:
    async with using(way, url, token) as used:
        yield used


def test_the_model_is_told_of_the_tools_in_the_words_of_the_service() -> None:
    tools = memory_tools(MemoryClient(token="none", agent_id="bot"))
    for tool, definition in zip(tools, definitions(), strict=True):
        assert convert_to_openai_tool(tool)["function"] == {
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.input_schema,
        }


# The service runs in this event loop: it could not answer a call that blocks it.
async def test_an_agent_recalls_what_it_has_stored(used: Used) -> None:
    assert await used.say("ask where Ann lives") == "I remember nothing of it."
    assert await used.say("remember Ann lives in Lund") == "I will remember it."
    assert await used.say("ask where Ann lives") == "Ann lives in Lund"


async def test_an_answer_is_the_services_own(used: Used) -> None:
    stored = await used.call("store_memory", {"content": "Ann lives in Lund", "metadata": {"of": "Ann"}})
    assert (stored.status, json.loads(stored.text)) == ("success", {"stored": True})
    recalled = await used.call("recall_memory", {"query": "Ann", "top_k": 1, "filter": {"metadata": {"of": "Ann"}}})
    (entry,) = json.loads(recalled.text)["entries"]
    assert (entry["content"], entry["metadata"]) == ("Ann lives in Lund", {"of": "Ann"})


@pytest.mark.parametrize("name", ["agent_id", "tenant_id", "self", "config", "run_manager", "callbacks", "client"])
async def test_an_argument_that_is_none_is_told_to_the_model(used: Used, name: str) -> None:
    message = await used.call("recall_memory", {"query": "Ann", name: "x"})
    assert message.status == "error"
    assert message.text == f"{name}: not an argument of recall_memory. Leave it out and try again."


async def test_a_missing_argument_is_told_to_the_model(used: Used) -> None:
    message = await used.call("store_memory", {})
    assert message.status == "error"
    assert "content" in message.text


async def test_a_failure_is_told_to_the_model_and_the_run_goes_on(way: str, url: str) -> None:
    async with using(way, url, "not-a-credential") as refused:
        message = await refused.call("recall_memory", {"query": "Ann"})
        assert message.status == "error"
        assert "credential" in message.text
        assert await refused.say("ask where Ann lives") == f"My memory failed. {message.text}"


async def test_an_outage_is_never_an_empty_memory(way: str) -> None:
    async with using(way, "http://127.0.0.1:1", "token", retries=0) as nowhere:
        message = await nowhere.call("recall_memory", {"query": "Ann"})
    assert message.status == "error"
    assert message.text.endswith("Go on without long-term memory, and say so.")


def test_an_async_client_refuses_to_be_called() -> None:
    recall, _ = memory_tools(AsyncMemoryClient(token="none", agent_id="bot"))
    with pytest.raises(NotImplementedError, match="use ainvoke, or give a MemoryClient"):
        recall.invoke({"query": "Ann"})


def test_a_client_without_an_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="MEMORY_GATEWAY_AGENT"):
        memory_tools(MemoryClient(token="none"))


def test_a_tool_shows_no_credential() -> None:
    for tool in memory_tools(MemoryClient(token="secret", agent_id="bot")):
        assert "secret" not in repr(tool)
        assert "client" not in tool.model_dump()


async def test_the_four_tools_are_given_where_they_are_asked_for_and_answer_in_text(
    service: Service, memory: AsyncMemoryClient
) -> None:
    admin = service.credential(admin=True)
    await service.client.put("/agents/bot", json={"tools": "profile"}, headers=admin)
    four = {tool.name: tool for tool in memory_tools(memory, "profile")}
    assert list(four) == [tool.name for tool in definitions("profile")]
    assert await four["remember"].ainvoke({"content": "Ann likes tea"}) == "Remembered."
    assert '"Ann likes tea"' in await four["recall"].ainvoke({"query": "What does Ann like?"})
