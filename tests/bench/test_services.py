"""Every adapter: our own API on the service itself, the others on stand-ins of what their documentation shows."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from bench.quality.dataset import Memory
from bench.quality.service import Answer, Service, ServiceFailed
from bench.quality.services import SERVICES
from bench.quality.services.gateway import Gateway
from bench.quality.services.ingesting import Ingesting, Turns
from bench.quality.services.mcp_memory import McpMemory
from bench.quality.services.mem0 import Mem0
from tests.bench.stand_ins import gateway, mcp_memory, mem0
from tests.support.service import Service as Served
from tests.support.service import serving

KEY = "a-key"
INVOICE = Memory("t1", "Ann: the invoice goes to the Malmo office", "1", "2023-05-08T13:56:00Z")
LUNCH = Memory("t2", "Bo: lunch is at noon", None, None)


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://stand-in")


def token_of(served: Served) -> str:
    return served.credential()["Authorization"].removeprefix("Bearer ")


@pytest.fixture(params=[*sorted(SERVICES), "ingesting"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    async with AsyncExitStack() as stack:
        if request.param == "gateway":
            served = await stack.enter_async_context(serving(tmp_path))
            yield Gateway(served.client, token_of(served))
        elif request.param == "ingesting":
            served = await stack.enter_async_context(serving(tmp_path))
            yield Ingesting(served.client, token_of(served), Turns())
        else:
            app = {"mem0": mem0, "mcp-memory": mcp_memory}[request.param](KEY)
            yield SERVICES[request.param](await stack.enter_async_context(client_of(app)), KEY)


async def test_what_is_told_is_found_best_first(service: Service) -> None:
    for memory in (LUNCH, INVOICE):
        await service.store("ns.a", memory)
    await service.ready("ns.a")
    answer = await service.ask("ns.a", "where goes the invoice", 20)
    assert answer.turn_ids[0] == "t1"
    assert set(answer.turn_ids) <= {"t1", "t2"}
    assert answer.top_score is not None


async def test_a_namespace_finds_nothing_of_another(service: Service) -> None:
    await service.store("ns.a", INVOICE)
    await service.store("ns.b", LUNCH)
    await service.ready("ns.b")
    assert (await service.ask("ns.b", "where goes the invoice", 20)).turn_ids == ("t2",)


async def test_no_more_turns_come_back_than_asked_for(service: Service) -> None:
    for memory in (LUNCH, INVOICE):
        await service.store("ns.a", memory)
    await service.ready("ns.a")
    assert len((await service.ask("ns.a", "lunch", 1)).turn_ids) == 1


@pytest.mark.parametrize(("adapter", "stand_in"), [(Mem0, mem0), (McpMemory, mcp_memory)])
async def test_a_refused_key_is_an_error(adapter: Any, stand_in: Any) -> None:
    async with client_of(stand_in(KEY)) as client:
        with pytest.raises(ServiceFailed, match="401"):
            await adapter(client, None).store("ns", LUNCH)


async def test_a_store_that_mcp_memory_refuses_with_200_is_an_error() -> None:
    async with client_of(mcp_memory(KEY)) as client:
        service = McpMemory(client, KEY)
        await service.store("ns", LUNCH)
        with pytest.raises(ServiceFailed, match="Duplicate content"):
            await service.store("ns", LUNCH)


async def test_a_server_that_mixes_the_conversations_is_refused() -> None:
    async with client_of(mcp_memory(KEY, partitions=False)) as client:
        service = McpMemory(client, KEY)
        await service.store("ns.a", INVOICE)
        with pytest.raises(ServiceFailed, match="no store partitions"):
            await service.ask("ns.b", "where goes the invoice", 20)


async def test_the_services_own_confidence_is_passed_on() -> None:
    entry = {"metadata": {"turn_id": "t1"}, "score": 0.4}
    async with client_of(gateway([{"entries": [entry, entry], "confidence": 0.9}])) as client:
        assert await Gateway(client, None).ask("ns", "what?", 20) == Answer(("t1",), 0.9, 0.4, (0.4,))


async def test_a_busy_service_is_asked_again() -> None:
    async with client_of(gateway([429, 503, {"entries": []}])) as client:
        assert await Gateway(client, None).ask("ns", "what?", 20) == Answer(())


async def test_a_service_that_stays_busy_is_an_error() -> None:
    async with client_of(gateway([503] * 6)) as client:
        with pytest.raises(ServiceFailed, match="503"):
            await Gateway(client, None).ask("ns", "what?", 20)


async def test_the_gateway_is_ready_once_a_recall_compares_with_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.quality.services.gateway._POLL_SECONDS", 0)
    answers: list[dict[str, Any] | int] = [{"entries": [], "degraded": ["pending_bound"]}, {"entries": []}]
    async with client_of(gateway(answers)) as client:
        await Gateway(client, None).ready("ns")
    assert answers == []


async def test_a_service_that_is_not_there_is_an_error() -> None:
    async with httpx.AsyncClient(base_url="http://127.0.0.1:9") as client:
        with pytest.raises(ServiceFailed, match="ConnectError"):
            await Gateway(client, None).ask("ns", "what?", 20)


@pytest.mark.thorough
@pytest.mark.parametrize(("ends", "fails"), [("done", False), ("failed", True)])
async def test_an_ingestion_that_outlives_its_request_is_waited_for(ends: str, *, fails: bool) -> None:
    looks = iter(["running", "running", ends])
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/ingest"):
            return httpx.Response(202, json={"id": "op", "status": "running"})
        if request.url.path.endswith("/operations/op"):
            seen.append(next(looks))
            return httpx.Response(200, json={"id": "op", "status": seen[-1]})
        return httpx.Response(200, json={"entries": []})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://slow") as client:
        service = Ingesting(client, None, Turns())
        await service.store("ns", INVOICE)
        with pytest.raises(ServiceFailed, match="not all") if fails else nullcontext():
            await service.ready("ns")
    assert seen == ["running", "running", ends]
