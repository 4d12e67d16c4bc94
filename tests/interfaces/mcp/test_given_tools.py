"""An agent has the tools that it is set to and no others, over every transport and in every version of the protocol."""

from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from app.interfaces.tools.manifests import manifest
from app.storage.agents import ToolSet
from tests.interfaces.mcp.answers import answered, refused
from tests.interfaces.mcp.conftest import Connected
from tests.support.service import Service

ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def give(service: Service, tools: ToolSet, **settings: Any) -> None:
    headers = service.credential(admin=True)
    answer = await service.client.put("/agents/bot", json={"tools": tools, **settings}, headers=headers)
    assert answer.status_code == 200


SETS: tuple[ToolSet, ...] = ("profile", "recall_store")


async def test_an_agent_is_listed_one_set_or_the_other_from_the_next_call_on(connection: Connected) -> None:
    for tools in (*SETS, *SETS):
        await give(connection.service, tools)
        listed = (await connection.client.list_tools()).tools
        shown = [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in listed]
        assert shown == manifest("mcp", tools)


CALLS: Mapping[ToolSet, Sequence[tuple[str, dict[str, Any]]]] = {
    "recall_store": [("recall_memory", {"query": "tea"}), ("store_memory", {"content": "kept from it"})],
    "profile": [
        ("remember", {"content": "kept from it"}),
        ("recall", {"query": "tea"}),
        ("forget", {"memory": ABSENT}),
        ("forget", {"memory": "tea"}),
        ("list", {"about": ""}),
        ("list", {"about": "tasks"}),
        ("list", {"about": "tea"}),
    ],
}


@pytest.mark.parametrize("tools", SETS)
async def test_a_tool_of_the_other_set_is_refused_as_one_that_does_not_exist(
    connection: Connected, tools: ToolSet
) -> None:
    await give(connection.service, tools)
    other = SETS[1 - SETS.index(tools)]
    messages = set()
    for name, arguments in [*CALLS[other], *((name, {"no": 1}) for name, _ in CALLS[other]), ("no_such_tool", {})]:
        with pytest.raises(MCPError) as raised:
            await connection.client.call_tool(name, arguments)
        assert (raised.value.code, raised.value.data) == (types.INVALID_PARAMS, None)
        messages.add(raised.value.message)
    names = ", ".join(tool["name"] for tool in manifest("mcp", tools))
    assert messages == {f"There is no tool of this name. There are: {names}."}
    assert "kept from it" not in await connection.service.contents("kept from it")


async def test_a_switched_off_memory_has_none_of_the_four_until_it_is_on_again(connection: Connected) -> None:
    client = connection.client
    await give(connection.service, "profile", long_term_enabled=False)
    assert (await client.list_tools()).tools == []
    for name, arguments in CALLS["profile"]:
        assert (await refused(client, name, **arguments))[0] == "long_term_disabled"
    await give(connection.service, "profile", long_term_enabled=True)
    assert len((await client.list_tools()).tools) == 4


async def test_what_one_set_has_kept_the_other_finds(connection: Connected) -> None:
    client, service = connection.client, connection.service
    await give(service, "profile")
    assert await answered(client, "remember", content="Tove sails a dinghy.") == {"answer": "Remembered."}
    await give(service, "recall_store")
    found = (await answered(client, "recall_memory", query="What does Tove sail?"))["entries"]
    assert found[0]["content"] == "Tove sails a dinghy."
    await answered(client, "store_memory", content="Tove rides a moped.")
    await give(service, "profile")
    assert "Tove rides a moped." in (await answered(client, "recall", query="What does Tove ride?"))["answer"]
