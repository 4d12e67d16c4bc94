"""The run that a call is made under comes with the connection or beside the call, never with an argument."""

from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from app.runtime.recall_log import write_recalls
from tests.interfaces.mcp.answers import answered, refused
from tests.interfaces.mcp.connections import OF_MODES, listening, over_http, over_stdio
from tests.support.service import Service

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
