"""What fails is told to the model with what to do about it, over every transport, and is never an empty answer."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from app.domain.errors import DatabaseUnavailable
from app.runtime.backends import Backends
from memory_gateway_double.account import Double
from memory_gateway_double.faults import Fault
from tests.interfaces.mcp.answers import answered, contents, refused
from tests.interfaces.mcp.connections import OF_TRANSPORTS, Transport, connected, listening, over_http, over_stdio
from tests.process.server import until
from tests.support.backends import Backend, running_on
from tests.support.doubles import FailingDatabase
from tests.support.service import Service, serving

pytestmark = pytest.mark.thorough

CALLS = (("recall_memory", {"query": "anything of which no word is known"}), ("store_memory", {"content": "not kept"}))
OPENAI: dict[str, Any] = {"embedder": "openai", "embedding_dimensions": "256"}
INDEX = "lt-memory-openai-text-embedding-3-small-256"
OPERATOR = "Do not try again now: tell the operator of the memory service, and go on without it."
NO_CREDIT = {"error": {"code": "insufficient_quota", "message": "no credit"}}
OUTAGES = [
    (Fault("openai.embeddings", status=503, times=None), "upstream_overloaded", "Wait 5 s and try again;"),
    (Fault("openai.embeddings", kind="cut", times=None), "upstream_unavailable", "Wait 1 s and try again;"),
    (Fault("openai.embeddings", status=401, times=None), "upstream_credentials_refused", OPERATOR),
    (Fault("openai.embeddings", status=429, body=NO_CREDIT, times=None), "quota_exhausted", OPERATOR),
    (Fault("d1.query", status=503, times=None), "upstream_overloaded", "Wait 5 s and try again;"),
    (Fault("d1.query", status=401, times=None), "upstream_credentials_refused", OPERATOR),
    (
        Fault("openai.embeddings", status=429, headers={"retry-after": "7"}, times=None),
        "rate_limited",
        "Wait 7 s and try again;",
    ),
]


@pytest.fixture(params=OF_TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Transport:
    name: Transport = request.param
    return name


@dataclass(frozen=True, slots=True)
class Account:
    """A Cloudflare account with an embedder, both doubles."""

    backend: Backend
    data_dir: Path

    @property
    def double(self) -> Double:
        return self.backend.doubles[self.data_dir].double

    @property
    def environment(self) -> dict[str, str]:
        settings = self.backend.settings(self.data_dir) | OPENAI
        return {name.upper(): str(value) for name, value in settings.items() if value != {}}


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with running_on("cloudflare") as backend:
        account = Account(backend, tmp_path / "data")
        backend.settings(account.data_dir)
        account.double.create_index(INDEX, 256, {"tenant_id": "string", "agent_id": "string", "created_at": "number"})
        yield account


@pytest.fixture
async def on_cloudflare(account: Account) -> AsyncIterator[Service]:
    async with serving(account.data_dir, on=account.backend, **OPENAI) as service:
        yield service


@pytest.fixture
async def client(transport: Transport, account: Account, on_cloudflare: Service) -> AsyncIterator[Client]:
    async with connected(transport, on_cloudflare, account.data_dir, **account.environment) as client:
        yield client


async def test_each_outage_is_told_with_what_to_do_and_nothing_is_kept(client: Client, account: Account) -> None:
    await answered(client, "store_memory", content="what was held")
    for fault, code, advice in OUTAGES:
        account.double.faults.clear()
        account.double.faults.add(fault)
        for tool, arguments in CALLS:
            told = await refused(client, tool, **{key: f"{text} {code}" for key, text in arguments.items()})
            assert told[0] == code
            assert advice in told[1]
            assert "not kept" not in told[1]
            assert "no word is known" not in told[1]
    account.double.faults.clear()
    assert await contents(client, "what was held") == ["what was held"]


async def test_a_list_that_cannot_be_told_is_an_error_and_never_empty(client: Client, account: Account) -> None:
    account.double.faults.add(Fault("d1.query", status=503, times=None))
    with pytest.raises(MCPError, match="Wait 5 s and try again") as raised:
        await client.list_tools()
    assert raised.value.data == {"code": "upstream_overloaded"}
    account.double.faults.clear()
    assert len((await client.list_tools()).tools) == 2


async def test_an_answer_without_the_index_or_the_embedder_says_what_was_not_searched(
    client: Client, account: Account
) -> None:
    await answered(client, "store_memory", content="held by its words")
    for operation, degraded in (
        ("vectorize.query", "index_unavailable"),
        ("openai.embeddings", "embedder_unavailable"),
    ):
        account.double.faults.clear()
        account.double.faults.add(Fault(operation, status=500, times=None))
        answer = await answered(client, "recall_memory", query=f"held by its words without {operation}")
        assert [entry["content"] for entry in answer["entries"]] == ["held by its words"]
        assert degraded in answer["degraded"]


async def test_a_service_that_is_not_ready_says_so_until_it_is(transport: Transport, account: Account) -> None:
    account.double.faults.add(Fault("d1.*", status=503, times=None))
    async with (
        serving(account.data_dir, on=account.backend, **OPENAI) as service,
        connected(transport, service, account.data_dir, **account.environment) as client,
    ):
        for tool, arguments in CALLS:
            code, text = await refused(client, tool, **arguments)
            assert code == "upstream_overloaded"
            assert "Wait 5 s" in text
        with pytest.raises(MCPError, match="Wait 5 s"):
            await client.list_tools()
        account.double.faults.clear()

        async def serves() -> bool:
            return not (await client.call_tool("recall_memory", {"query": "x"})).is_error

        await until(serves)


async def test_a_database_that_fails_leaves_the_server_serving(tmp_path: Path) -> None:
    databases: list[FailingDatabase] = []

    def failing(ports: Backends) -> Backends:
        databases.append(FailingDatabase(ports.database))
        return replace(ports, database=databases[0])

    async with (
        serving(tmp_path, change=failing) as service,
        over_http(service, service.credential(agent="bot")) as client,
    ):
        databases[0].error = DatabaseUnavailable("The disk does not answer.")
        code, text = await refused(client, "store_memory", content="x")
        assert code == "database_unavailable"
        assert text.startswith("Database unavailable: The disk does not answer. Wait 1 s")
        databases[0].error = None
        await answered(client, "store_memory", content="x")


async def test_a_quota_that_is_used_up_for_the_minute_is_to_be_waited_for(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, agent_stores_per_minute=1) as service,
        over_http(service, service.credential(agent="bot")) as client,
    ):
        results = [await client.call_tool("store_memory", {"content": f"number {n}"}) for n in range(3)]
    blocks = [result.content[0] for result in results if result.is_error]  # a minute may begin between two
    told = [block.text for block in blocks if isinstance(block, types.TextContent)]
    assert told
    assert all(re.search(r"^Quota exceeded: .* Wait [1-9]\d? s and try again", text) for text in told)


async def test_a_quota_that_stays_used_up_is_the_operators(tmp_path: Path) -> None:
    async with over_stdio(tmp_path / "data", "--agent", "bot", AGENT_MEMORIES="1") as client:
        await answered(client, "store_memory", content="the one")
        code, text = await refused(client, "store_memory", content="another")
        assert code == "quota_exceeded"
        assert text.endswith(OPERATOR)
        assert await contents(client, "another") == ["the one"]


async def test_a_gateway_that_is_away_is_told_in_each_call_until_it_is_back(service: Service, tmp_path: Path) -> None:
    token = service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
    async with listening(service.app) as url:
        pass
    async with over_stdio(tmp_path / "data", "--url", url, MEMORY_GATEWAY_TOKEN=token) as client:
        for tool, arguments in CALLS:
            code, text = await refused(client, tool, **arguments)
            assert code == "upstream_unavailable"
            assert url in text
            assert "Wait 1 s" in text
        with pytest.raises(MCPError, match="does not answer"):
            await client.list_tools()
        async with listening(service.app, port=int(url.rpartition(":")[2])):
            await answered(client, "store_memory", content="it is back")
