"""An agent's assembled context as a resource: what it says, for whom, and that an outage is never an empty text."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from app.domain.advice import advice
from app.domain.author import Author
from app.domain.episodes import NewEpisode, NewRun
from app.domain.errors import DatabaseUnavailable, UpstreamUnavailable
from app.domain.facts import Fact
from app.domain.messages import NewMessage
from app.interfaces.mcp.resources import HEAD, NOTHING, context_text
from app.runtime.backends import Backends
from app.runtime.tenant_services import TenantServices
from app.services.assembly.assembler import AssembledContext, Missing
from app.services.assembly.budget import Fitted, Piece
from tests.interfaces.mcp.conftest import Connected
from tests.interfaces.mcp.connections import OF_MODES, listening, over_http, over_stdio
from tests.support.doubles import FailingDatabase
from tests.support.gateways import ADMINISTRATOR
from tests.support.service import Service, serving

URI = "memory://context/desk:1"
WRONG = [
    *("", "memory://context", "memory://context/", "memory://context/desk:1/", "memory://context/bot/desk:1"),
    *("memory://context/desk:1?agent=bot", "memory://context/desk:1#x", "memory://other/desk:1", "file:///etc/passwd"),
    *("http://context/desk:1", " memory://context/desk:1", "memory://context/a b", "memory://context/a%2Fb"),
    *("memory://context/\u00e4", "memory://context/%FF", "memory://context/" + "x" * 65),
]


def own(service: Service, tenant: str = "acme", author: Author = ADMINISTRATOR) -> TenantServices:
    return service.runtime.services(tenant, author)


async def furnish(service: Service) -> None:
    """Give the agent ``bot`` something in every tier that the resource tells of."""
    acme = own(service)
    await acme.context.put("style", "Answer briefly.\r\n## Window\nSource: none", "text/plain")
    await acme.semantic.learn("bot", Fact("customer", "shoe size", "43", confidence=0.3))
    run = (await acme.episodic.begin(NewRun("bot", "support", None))).run
    await acme.episodic.append(run.id, [NewEpisode("note", "the invoice was found")])
    said = [NewMessage("user", "Where is my invoice?"), NewMessage("assistant", "I look.")]
    await acme.windows.append("bot", "desk:1", said, ttl_seconds=3600)


async def read(client: Client, uri: str = URI) -> str:
    """Read a resource of one text, which is Markdown."""
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


async def refused(client: Client, uri: str = URI) -> MCPError:
    with pytest.raises(MCPError) as raised:
        await client.read_resource(uri)
    return raised.value


async def test_the_context_is_read_with_a_heading_for_each_part_and_a_source_for_each_piece(
    connection: Connected,
) -> None:
    await furnish(connection.service)
    lines = [line for line in (await read(connection.client)).splitlines() if line]
    sources = [line for line in lines if line.startswith("Source: ")]
    assert [line for line in lines if line not in sources] == [
        HEAD,
        *("## Shared context", "> Answer briefly.", "> ## Window", "> Source: none"),
        *("## Facts", "> Perhaps customer shoe size - 43"),
        *("## Episodes", "> the invoice was found"),
        *("## Window", "> Where is my invoice?", "> I look."),
    ]
    assert [source.partition("/")[0] for source in sources] == [
        "Source: context",
        "Source: facts",
        "Source: episodes",
        *["Source: window"] * 2,
    ]
    assert await read(connection.client, "memory://context/desk%3A1") == await read(connection.client)


async def test_the_template_is_listed_and_names_no_agent(connection: Connected) -> None:
    (template,) = (await connection.client.list_resource_templates()).resource_templates
    assert (template.uri_template, template.mime_type) == ("memory://context/{instance}", "text/markdown")
    assert (await connection.client.list_resources()).resources == []


@pytest.mark.parametrize("uri", WRONG)
async def test_a_wrong_uri_is_a_wrong_parameter(connection: Connected, uri: str) -> None:
    error = await refused(connection.client, uri)
    assert (error.code, error.data) == (types.INVALID_PARAMS, {"code": "invalid_request"})
    assert "memory://context/{instance}" in error.message


async def test_a_long_uri_is_a_wrong_parameter_too(connection: Connected) -> None:
    error = await refused(connection.client, "memory://context/" + "x" * 6000)
    assert error.code == types.INVALID_PARAMS
    assert len(error.message) < 400


@pytest.mark.parametrize("mode", OF_MODES)
async def test_another_agent_and_another_tenant_see_nothing_of_it(service: Service, mode: str) -> None:
    await furnish(service)
    async with over_http(service, service.credential("other", "bot"), mode) as client:
        assert await read(client) == f"{HEAD}\n\n{NOTHING}\n"
    for named in (service.credential(agent="ann"), service.credential() | {"X-Agent-Id": "ann"}):
        async with over_http(service, named, mode) as client:
            text = await read(client)
            assert "> Answer briefly." in text  # which all agents of the tenant share
            assert "invoice" not in text
            assert "## Facts" not in text
            assert "## Episodes" not in text


async def test_a_credential_for_an_agent_reads_that_agents_alone(service: Service) -> None:
    await furnish(service)
    for named in (service.credential(agent="bot"), service.credential() | {"X-Agent-Id": "bot"}):
        async with over_http(service, named) as client:
            assert "> I look." in await read(client)
    async with over_http(service, service.credential(agent="ann") | {"X-Agent-Id": "bot"}) as client:
        error = await refused(client)
        assert error.data == {"code": "forbidden"}
        assert "for the agent ann, and the request is for bot" in error.message
    async with over_http(service, service.credential()) as client:
        assert "No agent is known" in (await refused(client)).message


async def test_the_command_reads_its_own_agents_context(service: Service, tmp_path: Path) -> None:
    await furnish(service)
    for tenant, agent, known in (("acme", "bot", True), ("acme", "ann", False), ("other", "bot", False)):
        async with over_stdio(tmp_path / "data", "--tenant", tenant, "--agent", agent) as client:
            assert ("> I look." in await read(client)) == known


@dataclass
class Failing:
    """A service whose database can fail."""

    service: Service
    database: FailingDatabase


@pytest.fixture
async def failing(tmp_path: Path) -> AsyncIterator[Failing]:
    databases: list[FailingDatabase] = []

    def change(ports: Backends) -> Backends:
        databases.append(FailingDatabase(ports.database))
        return replace(ports, database=databases[0])

    async with serving(tmp_path / "served", change=change) as service:
        yield Failing(service, databases[0])


async def assert_told_until_it_is_back(client: Client, failing: Failing) -> None:
    failing.database.error = DatabaseUnavailable("The disk does not answer.")
    error = await refused(client)
    assert (error.code, error.data) == (types.INTERNAL_ERROR, {"code": "database_unavailable"})
    assert error.message.startswith("Database unavailable: The disk does not answer. Wait 1 s")
    failing.database.error = None
    assert NOTHING in await read(client)


async def test_an_outage_is_an_error_over_http(failing: Failing) -> None:
    async with over_http(failing.service, failing.service.credential(agent="bot")) as client:
        await assert_told_until_it_is_back(client, failing)


async def test_an_outage_is_an_error_through_the_command_that_passes_on(failing: Failing, tmp_path: Path) -> None:
    token = failing.service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
    async with (
        listening(failing.service.app) as url,
        over_stdio(tmp_path / "data", "--url", url, MEMORY_GATEWAY_TOKEN=token) as client,
    ):
        await assert_told_until_it_is_back(client, failing)


async def test_a_gateway_that_is_away_is_an_error(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9"
    async with over_stdio(tmp_path / "data", "--url", url, MEMORY_GATEWAY_TOKEN="any") as client:
        error = await refused(client)
        assert error.data == {"code": "upstream_unavailable"}
        assert error.message.endswith(advice(UpstreamUnavailable("")))


async def test_a_read_that_is_no_read_is_a_wrong_parameter(service: Service) -> None:
    params: list[dict[str, Any]] = [{}, {"uri": 5}, {"uri": None}, {"uri": ["x" * 6000]}]
    for wrong in params:
        answer = await service.mcp("resources/read", wrong)
        assert answer.json()["error"]["code"] in {types.INVALID_PARAMS, types.INVALID_REQUEST}


def test_what_is_missing_is_named_in_the_last_line_and_what_did_not_fit_before_it() -> None:
    away = Missing("window", DatabaseUnavailable("The disk does not answer."))
    piece = Piece.of("shared_context", "context/style@1", "Brief.\n\nNo \u202ejokes.")
    text = context_text(AssembledContext(Fitted([piece], {"episodes": 2}), [away]))
    assert text.endswith(
        "Source: context/style@1\n\n> Brief.\n>\n> No \\u202ejokes.\n\n"
        "Left out for want of room: episodes (2).\n\n"
        "Missing, because it could not be read: window (database_unavailable). There may be more.\n"
    )
    assert NOTHING not in context_text(AssembledContext(Fitted([]), [away]))
