"""The tenant comes with the credential and the agent with it or beside it, never with a call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from app.domain.errors import ConfigurationError
from app.interfaces.cli import cli
from tests.interfaces.mcp.answers import answered, contents, refused
from tests.interfaces.mcp.connections import OF_MODES, listening, over_http, over_stdio
from tests.support.service import Service

CALLS = (("recall_memory", {"query": "x"}), ("store_memory", {"content": "x"}))


@pytest.fixture(params=OF_MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def passing_on(service: Service, tmp_path: Path, token: str, *options: str) -> AsyncIterator[Client]:
    async with (
        listening(service.app) as url,
        over_stdio(tmp_path / "data", *options, "--url", url, MEMORY_GATEWAY_TOKEN=token) as client,
    ):
        yield client


def token(service: Service, agent: str | None = None) -> str:
    return service.credential(agent=agent)["Authorization"].removeprefix("Bearer ")


async def test_the_agent_is_the_one_the_credential_names(service: Service, mode: str) -> None:
    async with over_http(service, service.credential(agent="ann"), mode) as client:
        await answered(client, "store_memory", content="of ann")
    assert await service.contents("of ann", agent_id="ann") == ["of ann"]
    assert await service.contents("of ann", agent_id="bot") == []
    assert await service.contents("of ann", tenant="other", agent_id="ann") == []


async def test_a_credential_for_all_agents_takes_the_agent_from_the_header(service: Service, mode: str) -> None:
    for agent in ("ann", "bob"):
        async with over_http(service, service.credential() | {"X-Agent-Id": agent}, mode) as client:
            assert len((await client.list_tools()).tools) == 2
            await answered(client, "store_memory", content=f"of {agent}")
            assert await contents(client, "of") == [f"of {agent}"]


async def test_the_same_agent_may_be_named_twice(service: Service) -> None:
    async with over_http(service, service.credential(agent="ann") | {"X-Agent-Id": "ann"}) as client:
        await answered(client, "store_memory", content="of ann")


async def test_without_an_agent_the_tools_are_listed_and_calls_name_both_ways(service: Service, mode: str) -> None:
    async with over_http(service, service.credential(), mode) as client:
        assert len((await client.list_tools()).tools) == 2
        for tool, arguments in CALLS:
            code, text = await refused(client, tool, **arguments)
            assert code == "forbidden"
            assert "X-Agent-Id" in text
            assert "--agent" in text
            assert "claim `agent`" in text


async def test_another_agent_than_the_credentials_is_forbidden(service: Service, mode: str) -> None:
    await service.store("of bob", agent_id="bob")
    async with over_http(service, service.credential(agent="ann") | {"X-Agent-Id": "bob"}, mode) as client:
        with pytest.raises(MCPError, match="for the agent ann, and the request is for bob") as raised:
            await client.list_tools()
        assert raised.value.data == {"code": "forbidden"}
        for tool, arguments in CALLS:
            assert (await refused(client, tool, **arguments))[0] == "forbidden"
    assert await service.contents("x", agent_id="bob") == ["of bob"]


@pytest.mark.parametrize("agent", ["", " ", "a b", "a/b", "ä".encode(), "x" * 65, "a,b"])
async def test_an_ill_formed_agent_is_told_with_where_it_came_from(service: Service, agent: str | bytes) -> None:
    headers = service.credential() | {"X-Agent-Id": agent}
    async with over_http(service, headers) as client:  # type: ignore[arg-type]  # a header may be bytes
        for tool, arguments in CALLS:
            code, text = await refused(client, tool, **arguments)
            assert code == "invalid_request"
            assert "X-Agent-Id" in text
        with pytest.raises(MCPError, match="X-Agent-Id"):
            await client.list_tools()


@pytest.mark.thorough
async def test_the_command_takes_the_tenant_and_the_agent(service: Service, tmp_path: Path) -> None:
    async with over_stdio(tmp_path / "data", "--tenant", "bolt", "--agent", "ann") as client:
        await answered(client, "store_memory", content="of bolt's ann")
    async with over_stdio(tmp_path / "data", "--tenant", "bolt", MEMORY_GATEWAY_AGENT="bob") as client:
        assert await contents(client, "of") == []
    assert await service.contents("of", tenant="bolt", agent_id="ann") == ["of bolt's ann"]


async def test_the_command_without_an_agent_is_for_the_one_that_all_commands_have_by_default(tmp_path: Path) -> None:
    async with over_stdio(tmp_path / "data") as client:
        await answered(client, "store_memory", content="of nobody named")
    async with over_stdio(tmp_path / "data", "--agent", "default") as client:
        recalled = await answered(client, "recall_memory", query="nobody named")
    assert [entry["content"] for entry in recalled["entries"]] == ["of nobody named"]


async def test_the_command_passes_the_agent_on(service: Service, tmp_path: Path) -> None:
    async with passing_on(service, tmp_path, token(service), "--agent", "ann") as client:
        await answered(client, "store_memory", content="of ann")
    assert await service.contents("of", agent_id="ann") == ["of ann"]


async def test_the_command_cannot_reach_another_agent_than_its_credentials(service: Service, tmp_path: Path) -> None:
    async with passing_on(service, tmp_path, f"{token(service, 'ann')}\n", "--agent", "bob") as client:
        assert (await refused(client, "store_memory", content="x"))[0] == "forbidden"
        with pytest.raises(MCPError, match="for the agent ann, and the request is for bob"):
            await client.list_tools()


async def test_the_command_tells_the_model_that_its_credential_does_not_hold(service: Service, tmp_path: Path) -> None:
    async with passing_on(service, tmp_path, "none") as client:
        code, text = await refused(client, "recall_memory", query="x")
        assert code == "unauthenticated"
        assert "Ask the operator" in text
        with pytest.raises(MCPError, match="Ask the operator"):
            await client.list_tools()


@pytest.mark.parametrize("agent", ["a b", "", "x" * 65])
def test_the_command_refuses_an_ill_formed_agent_before_it_serves(agent: str) -> None:
    done = CliRunner().invoke(cli, ["mcp", "--agent", agent])
    assert done.exit_code == 2
    assert "--agent" in done.output


@pytest.mark.parametrize("token", [None, "", "two words", "na\u00efve", "broken\r\nX: 1"])
def test_the_command_asks_for_a_credential_before_it_passes_anything_on(
    monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    monkeypatch.delenv("MEMORY_GATEWAY_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("MEMORY_GATEWAY_TOKEN", token)
    done = CliRunner().invoke(cli, ["mcp", "--url", "http://127.0.0.1:1"])
    assert isinstance(done.exception, ConfigurationError)
    assert "MEMORY_GATEWAY_TOKEN" in str(done.exception)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "http://", "ftp://host", "http://u:p4ss@host", "http://host?a=b", "x"]
)
def test_the_command_refuses_what_is_no_url_or_holds_a_credential(url: str) -> None:
    done = CliRunner().invoke(cli, ["mcp", "--url", url])
    assert done.exit_code == 2
    assert "--url" in done.output
    assert "p4ss" not in done.output


def test_the_command_takes_no_tenant_beside_a_credential() -> None:
    done = CliRunner().invoke(cli, ["mcp", "--url", "http://127.0.0.1:1", "--tenant", "acme"])
    assert done.exit_code == 2
    assert "--tenant" in done.output


async def test_the_command_serves_its_own_data_whatever_url_its_environment_names(tmp_path: Path) -> None:
    elsewhere = {"MEMORY_GATEWAY_URL": "http://127.0.0.1:1", "MEMORY_GATEWAY_TOKEN": "any"}
    async with over_stdio(tmp_path / "data", "--agent", "ann", **elsewhere) as client:
        assert not (await client.call_tool("store_memory", {"content": "kept here"})).is_error


async def test_two_agents_named_at_once_are_none(service: Service) -> None:
    headers = {**service.credential(), "Content-Type": "application/json", "Accept": "application/json"}
    named = [*headers.items(), ("X-Agent-Id", "ann"), ("X-Agent-Id", "bob")]
    answer = await service.client.post("/mcp", content="{}", headers=named)
    assert answer.status_code == 422
    assert "X-Agent-Id is sent more than once" in answer.json()["error"]["message"]


async def test_the_command_reads_no_settings_from_the_folder_that_its_host_has_opened(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.with_name(".env").write_text(f"DATA_DIR={tmp_path / 'theirs'}\nOPENAI_BASE_URL=no url\n", "utf-8")
    async with over_stdio(data_dir, "--agent", "ann") as client:
        await answered(client, "store_memory", content="a secret")
        assert await contents(client, "secret") == ["a secret"]
    assert not (tmp_path / "theirs").exists()
