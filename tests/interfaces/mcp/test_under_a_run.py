"""The run that a call is made under comes with the connection or beside the call, never with an argument."""

from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from app.interfaces.tools.sets import ALL_TOOLS
from app.runtime.recall_log import write_recalls
from tests.interfaces.mcp.answers import answered, refused
from tests.interfaces.mcp.connections import OF_MODES, listening, over_http, over_stdio
from tests.support.service import Service
from tests.support.tables import rows_of

RUN, ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "01K2Z4M1V7Q8T3B5N6C7D8E9FB"
META: Any = {"memory-gateway/run_id": RUN}


@pytest.fixture(params=OF_MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def begin(service: Service) -> None:
    body = {"agent_id": "ann", "agent_type": "t", "input": None, "run_id": RUN}
    assert (await service.post("/runs", body)).status_code == 201


async def log(service: Service) -> list[tuple[str, str | None]]:
    """Return what the log of the run tells: the event, and the tool of a call."""
    await write_recalls(service.runtime.backends)
    answer = await service.client.get(f"/runs/{RUN}/log", headers=service.credential(agent="ann"))
    return [(each["entry"]["event"], each["entry"].get("tool")) for each in answer.json()["entries"]]


async def test_the_header_of_a_connection_names_the_run(service: Service, mode: str) -> None:
    await begin(service)
    async with over_http(service, service.credential(agent="ann") | {"X-Run-Id": RUN}, mode) as client:
        await answered(client, "store_memory", content="text")
        await answered(client, "recall_memory", query="text")
    assert await log(service) == [
        *(("started", None), ("stored", None)),
        *(("tool_call", "store_memory"), ("recalled", None), ("tool_call", "recall_memory")),
    ]


async def stores_by_meta(service: Service, client: Client) -> None:
    await client.call_tool("store_memory", {"content": "text"}, meta=META)
    assert [event for event, _ in await log(service)] == ["started", "stored", "tool_call"]


async def test_a_call_names_the_run_in_its_meta(service: Service, mode: str) -> None:
    await begin(service)
    async with over_http(service, service.credential(agent="ann"), mode) as client:
        await stores_by_meta(service, client)


async def test_a_call_that_is_passed_on_names_the_run_too(service: Service, tmp_path: Path) -> None:
    await begin(service)
    token = service.credential(agent="ann")["Authorization"].removeprefix("Bearer ")
    async with (
        listening(service.app) as url,
        over_stdio(tmp_path / "data", "--url", url, MEMORY_GATEWAY_TOKEN=token) as client,
    ):
        await stores_by_meta(service, client)


async def test_a_run_that_the_agent_does_not_have_is_refused_before_anything_is_stored(service: Service) -> None:
    async with over_http(service, service.credential(agent="ann") | {"X-Run-Id": ABSENT}) as client:
        with pytest.raises(MCPError, match="There is no such run"):
            await client.call_tool("store_memory", {"content": "text"})
    assert await service.contents("text", agent_id="ann") == []


async def test_a_run_of_another_form_is_refused_by_name(service: Service) -> None:
    async with over_http(service, service.credential(agent="ann") | {"X-Run-Id": "mine"}) as client:
        assert "run_id" in (await refused(client, "store_memory", content="text"))[1]
    async with over_http(service, service.credential(agent="ann")) as client:
        number: Any = {"memory-gateway/run_id": 7}
        answer = await client.call_tool("store_memory", {"content": "text"}, meta=number)
        assert answer.is_error
    assert await service.contents("text", agent_id="ann") == []


async def test_a_model_cannot_name_a_run(service: Service) -> None:
    await begin(service)
    async with over_http(service, service.credential(agent="ann")) as client:
        assert "run_id" in (await refused(client, "store_memory", content="text", run_id=RUN))[1]


CALLS: dict[str, dict[str, Any]] = {
    "store_memory": {"content": "outside"},
    "recall_memory": {"query": "inside"},
    "remember": {"content": "outside"},
    "recall": {"query": "inside"},
    "list": {"about": ""},
    "forget": {"memory": ABSENT},
}


@pytest.mark.parametrize(("tenant", "agent"), [("other", "ann"), ("acme", "bob")])
async def test_no_tool_tells_another_tenant_or_agent_of_a_run_or_its_log_of_them(
    service: Service, tenant: str, agent: str
) -> None:
    assert CALLS.keys() == {tool.name for tool in ALL_TOOLS}
    await begin(service)
    await service.store("inside", agent_id="ann")
    path, headers = f"/agents/{agent}", service.credential(tenant, admin=True)
    for tools, names in (("recall_store", [*CALLS][:2]), ("profile", [*CALLS][2:])):
        assert (await service.client.put(path, json={"tools": tools}, headers=headers)).status_code == 200
        for run_id in (RUN, ABSENT):
            meta: Any = {"memory-gateway/run_id": run_id}
            async with over_http(service, service.credential(tenant, agent)) as client:
                for name in names:
                    try:
                        answer = str(await client.call_tool(name, CALLS[name], meta=meta))
                    except MCPError as error:
                        assert name in {"store_memory", "remember"}
                        answer = str(error)
                    # A run of others and one that nobody has are answered alike.
                    assert ("There is no such run" in answer) is (name in {"store_memory", "remember"}), (name, answer)
                    assert "inside" not in answer
                    assert RUN not in answer
    assert await log(service) == [("started", None)]
    assert await rows_of(service, "working_log", "tenant_id", "agent_id") == [{"tenant_id": "acme", "agent_id": "ann"}]
    assert await service.contents("outside", tenant=tenant, agent_id=agent) == []
