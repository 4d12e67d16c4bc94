"""A service with a reranker, over the routes and the tools, and over a socket to the double."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from app.bootstrap import build_runtime
from app.domain.errors import ConfigurationError
from app.interfaces.server.connections import ConnectionLimits
from app.interfaces.server.guarded_http import guarded
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault
from memory_gateway_double.server import Handle, running
from tests.interfaces.mcp.connections import listening
from tests.support.backends import running_on
from tests.support.service import Service, serving, settings_for

FOX, BEAR, OWL = "the red fox in the barn", "a red bear", "an owl that has seen red"
SCRIPT = {"owl": 0.9, "bear": 0.5, "fox": 0.1}


@pytest.fixture(scope="module")
def double() -> Iterator[Handle]:
    with running(DoubleOptions()) as handle:
        yield handle


@pytest.fixture(autouse=True)
def _as_it_was(double: Handle) -> Iterator[None]:
    double.double.rerankings.set(SCRIPT)
    double.double.reset_calls()
    yield
    double.double.faults.clear()


def over_http(double: Handle) -> dict[str, Any]:
    key = double.double.options.reranker_api_key
    url = double.reranker_url
    return {"reranker": "http", "reranker_base_url": url, "reranker_api_key": key, "reranker_model": "any"}


@pytest.fixture
async def service(tmp_path: Path, double: Handle) -> AsyncIterator[Service]:
    async with serving(tmp_path, **over_http(double)) as service:
        for content in (FOX, BEAR, OWL):
            await service.store(content)
        yield service


async def asked(service: Service, **fields: Any) -> dict[str, Any]:
    answer = await service.post("/recall", {"agent_id": "bot", "query": "red fox", **fields})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def test_a_recall_is_one_call_of_the_reranker_and_comes_in_its_order(service: Service, double: Handle) -> None:
    answer = await asked(service, explain=True)
    assert [(entry["content"], entry["score"]) for entry in answer["entries"]] == [(OWL, 0.9), (BEAR, 0.5), (FOX, 0.1)]
    assert answer["confidence"] == 0.9
    assert "degraded" not in answer
    for entry in answer["entries"]:
        first, *others = entry["findings"]
        assert first == {"channel": "reranker", "weighted": entry["score"], "raw": entry["score"], "rank": None}
        assert all(finding["weighted"] == 0 for finding in others)
    assert double.double.calls() == {"rerank": 1}


async def test_a_service_whose_settings_name_none_calls_none(tmp_path: Path, double: Handle) -> None:
    async with serving(tmp_path, **(over_http(double) | {"reranker": "none"})) as service:
        await service.store(FOX)
        assert await service.recall("red fox")
        assert "reranker" not in (await service.client.get("/readyz")).text
    assert double.double.calls() == {}


@pytest.mark.parametrize("fault", [{"status": 429}, {"status": 500}, {"kind": "half_body"}, {"kind": "wrong_indexes"}])
async def test_a_reranker_that_fails_is_said_and_logged_without_content(
    service: Service, double: Handle, fault: Any
) -> None:
    double.double.faults.add(Fault("rerank", **fault))
    with capture_logs() as logs:
        answer = await asked(service)
    assert answer["degraded"] == ["reranker_unavailable"]
    assert answer["entries"][0]["content"] == FOX
    assert [entry["event"] for entry in logs if entry["log_level"] == "warning"] == ["reranker_away"]
    assert "fox" not in str(logs)


async def test_a_reranker_that_hangs_keeps_a_recall_no_longer_than_is_set(tmp_path: Path, double: Handle) -> None:
    async with serving(tmp_path, **over_http(double), reranker_seconds=0.05) as service:
        await service.store(FOX)
        double.double.faults.add(Fault("rerank", kind="hang"))
        async with asyncio.timeout(5):
            assert (await asked(service))["degraded"] == ["reranker_unavailable"]
        metrics = (await service.client.get("/metrics")).text
        assert 'operation="http.rerank",outcome="upstream_timeout"' in metrics


async def test_a_call_ends_when_its_caller_hangs_up(tmp_path: Path, double: Handle) -> None:
    async with serving(tmp_path, **over_http(double), reranker_seconds=10) as service:
        await service.store(FOX)
        double.double.faults.add(Fault("rerank", kind="hang"))
        async with (
            listening(service.app, http=guarded(ConnectionLimits())) as url,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            body = {"agent_id": "bot", "query": "red fox"}
            request = asyncio.create_task(client.post(f"{url}/recall", json=body, headers=service.credential()))
            while not double.double.calls():
                await asyncio.sleep(0.005)
            request.cancel()
            async with asyncio.timeout(5):
                while 'operation="http.rerank",outcome="cancelled"' not in (await service.client.get("/metrics")).text:
                    await asyncio.sleep(0.005)


async def test_an_explanation_and_the_tool_are_reranked_too(service: Service, double: Handle) -> None:
    (*_, fox) = (await asked(service))["entries"]
    answer = await service.post("/recall/explain", {"agent_id": "bot", "query": "red fox", "memory_id": fox["id"]})
    assert (answer.json()["rank"], answer.json()["score"], answer.json()["returned"]) == (3, 0.1, True)
    found = (await service.call("recall_memory", {"query": "red fox"})).json()["result"]["structuredContent"]
    assert [entry["content"] for entry in found["entries"]] == [OWL, BEAR, FOX]
    double.double.faults.add(Fault("rerank", status=503))
    found = (await service.call("recall_memory", {"query": "red fox"})).json()["result"]["structuredContent"]
    assert found["degraded"] == ["reranker_unavailable"]


async def test_a_service_is_ready_without_its_reranker_and_says_that_it_is_away(
    service: Service, double: Handle
) -> None:
    async def part() -> tuple[int, dict[str, Any]]:
        answer = await service.client.get("/readyz")
        return answer.status_code, next(part for part in answer.json()["parts"] if part["name"] == "reranker")

    assert await part() == (200, {"name": "reranker", "backend": "http/any", "status": "ok"})
    double.double.faults.add(Fault("rerank", status=503))
    status, told = await part()
    assert (status, told["status"], told["code"]) == (200, "failing", "upstream_overloaded")
    assert (await service.client.get("/readyz")).json()["status"] == "ready"


async def test_on_cloudflare_a_recall_is_one_more_call_with_the_client_of_the_rest(tmp_path: Path) -> None:
    with running_on("cloudflare") as account:
        async with serving(tmp_path, on=account, reranker="workers-ai", indexer_seconds=30) as service:
            double = account.doubles[tmp_path].double
            double.rerankings.set(SCRIPT)
            for content in (FOX, BEAR, OWL):
                await service.store(content)
            while (await service.runtime.outbox_status()).lease_holder is None:  # its next round is 30 seconds away
                await asyncio.sleep(0.01)
            before = double.calls()
            assert [entry["content"] for entry in (await asked(service))["entries"]] == [OWL, BEAR, FOX]
            made = {name: n - before.get(name, 0) for name, n in double.calls().items() if n != before.get(name, 0)}
            assert made == {"vectorize.query": 1, "d1.query": 1, "ai.rerank": 1}
            double.faults.add(Fault("ai.rerank", status=429))
            answer = await asked(service)
            assert (answer["degraded"], answer["entries"][0]["content"]) == (["reranker_unavailable"], FOX)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reranker": "http"}, "RERANKER_BASE_URL"),
        ({"reranker": "workers-ai"}, "CLOUDFLARE_ACCOUNT_ID"),
    ],
)
def test_a_reranker_that_lacks_a_setting_is_refused_with_its_name(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        build_runtime(settings_for(tmp_path, **given))
