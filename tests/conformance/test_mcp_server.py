"""The service's own ``/mcp`` and ``memory-gateway mcp``, asked by the MCP inspector in both eras of the protocol."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.interfaces.tools.manifests import manifest
from app.services.access.credentials import Credentials
from memory_gateway_client import MemoryClient
from tests.conformance.inspector import Era, Inspector, InspectorError
from tests.process.forks import command
from tests.process.server import SECRET, Server

TOOLS = {tool["name"]: tool for tool in manifest("mcp")}
FOUR = {tool["name"]: tool for tool in manifest("mcp", "profile")}


def token(agent_id: str, *, admin: bool = False) -> str:
    now = time.time_ns() // 1_000_000
    return Credentials({"test": SECRET}).issue("test", now=now, agent_id=agent_id, admin=admin)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("gateway")
    server = Server.spawn(folder / "data", folder / "log")
    try:
        asyncio.run(server.ready())
        with MemoryClient(server.url, token("four", admin=True), agent_id="four") as four:
            four.set_agent(tools="profile")
        yield server
    finally:
        asyncio.run(server.stop())


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era


_OFTEN = {("http", "legacy"), ("http", "modern"), ("stdio embedded", "modern"), ("stdio passing on", "legacy")}
"""What is asked in every run: each transport and each era."""


@pytest.fixture(
    params=[
        pytest.param(
            (transport, era), id=f"{transport}-{era}", marks=[pytest.mark.long] * ((transport, era) not in _OFTEN)
        )
        for transport in ("http", "stdio embedded", "stdio passing on")
        for era in ("legacy", "modern")
    ]
)
def inspecting(request: pytest.FixtureRequest, tmp_path: Path, gateway: Server) -> Callable[[str], Inspector]:
    """Ask for an agent over one transport, in one era."""
    transport, era = request.param

    def inspecting(agent: str) -> Inspector:
        ours = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        if transport == "http":
            headers = {"Authorization": f"Bearer {token(agent)}"}
            return Inspector.over_http(tmp_path, f"{gateway.url}/mcp", headers, era)
        if transport == "stdio embedded":
            here = ours | {"DATA_DIR": str(gateway.data_dir), "EMBEDDER": "hashing", "READER": "none"}
            return Inspector.over_stdio(tmp_path, command("mcp", "--tenant", "test", "--agent", agent), here, era)
        passing_on = ours | {"MEMORY_GATEWAY_TOKEN": token(agent)}
        return Inspector.over_stdio(tmp_path, command("mcp", "--url", gateway.url), passing_on, era)

    return inspecting


@pytest.fixture
def inspector(inspecting: Callable[[str], Inspector]) -> Inspector:
    return inspecting("bot")


def test_it_lists_the_tools_and_finds_nothing_in_their_schemas(inspector: Inspector) -> None:
    tools = {tool["name"]: tool for tool in inspector.tools()}
    assert tools == TOOLS
    assert inspector.findings() == []


def test_what_is_stored_is_recalled(inspector: Inspector) -> None:
    content = f"“Å” 😀 told by {inspector.target[1]} in the {inspector.era} era\n"
    stored = inspector.call("store_memory", content=content, metadata={"era": inspector.era, "none": None})
    assert (stored["structuredContent"], stored.get("isError", False)) == ({"stored": True}, False)
    asked = {"query": content, "top_k": 1, "filter": {"metadata": {"era": inspector.era, "none": None}}}
    recalled = inspector.call("recall_memory", **asked)
    (entry,) = recalled["structuredContent"]["entries"]
    assert (entry["content"], entry["metadata"]) == (content, {"era": inspector.era, "none": None})
    (block,) = recalled["content"]
    assert json.loads(block["text"]) == recalled["structuredContent"]


def test_an_agent_that_is_set_to_the_four_tools_has_these_and_their_text_is_their_answer(
    inspecting: Callable[[str], Inspector],
) -> None:
    inspector = inspecting("four")
    assert {tool["name"]: tool for tool in inspector.tools()} == FOUR
    assert inspector.findings() == []
    text = f"The boat of {inspector.target[1]} in the {inspector.era} era is called Svalan."
    assert inspector.call("remember", content=text)["structuredContent"] == {"answer": "Remembered."}
    recalled = inspector.call("recall", query=text)
    (block,) = recalled["content"]
    assert block["text"] == recalled["structuredContent"]["answer"]
    assert f'"{text}"' in block["text"]
    for tool in TOOLS:
        with pytest.raises(InspectorError) as raised:
            inspector.call(tool, query="x")
        assert raised.value.code == "tool_not_found"


def test_a_failure_of_a_tool_is_a_result_that_says_what_to_do(inspector: Inspector) -> None:
    for tool, arguments, told in (
        ("store_memory", {"content": "x" * 40_000}, "Shorten it"),
        ("recall_memory", {"query": "x", "top_k": 21}, "Correct what is named"),
    ):
        result = inspector.call(tool, **arguments)
        assert result["isError"] is True
        assert told in result["content"][0]["text"]


def test_a_tool_that_is_not_there_is_an_error(inspector: Inspector) -> None:
    with pytest.raises(InspectorError) as raised:
        inspector.call("delete_memory", memory_id="01K2Z4M1V7Q8T3B5N6C7D8E9FA")
    assert raised.value.code == "tool_not_found"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer another"}])
def test_a_caller_without_a_credential_that_holds_is_told_so(
    tmp_path: Path, gateway: Server, era: Era, headers: dict[str, str]
) -> None:
    with pytest.raises(InspectorError) as raised:
        Inspector.over_http(tmp_path, f"{gateway.url}/mcp", headers, era).tools()
    assert raised.value.code == "auth_required"
