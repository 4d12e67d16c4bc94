"""What an answer tells the Worker in front of the service of the call: only where that is set, and no content."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.local.hashing import HashingEmbedder
from app.domain.errors import UpstreamTimeout
from app.interfaces.server.connections import ConnectionLimits
from app.interfaces.server.guarded_http import guarded
from app.ports.embedder import Embeddings, Purpose
from app.runtime.backends import Backends
from tests.interfaces.mcp.connections import listening
from tests.interfaces.mcp.gate import Gate, Moment
from tests.process.server import until
from tests.services.believing_reader import BelievingReader
from tests.support.models import ScriptedModel, answer
from tests.support.service import Service, serving

HEADER = "X-Memory-Gateway-Call"
ID = "01K5ZT3V0W8Q2N4R6S8T0V2X4Y"
SECRETIVE = "the heron of Ystad"


class CountingEmbedder(HashingEmbedder):
    """Counts a token for each word, as a provider does, and can be made to fail."""

    fails = False

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        if self.fails:
            raise UpstreamTimeout("No answer.")
        embedded = await super().embed(texts, purpose, tenant_id=tenant_id)
        return replace(embedded, tokens=sum(len(text.split()) for text in texts))


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
async def service(tmp_path: Path, embedder: CountingEmbedder) -> AsyncIterator[Service]:
    def change(backends: Backends) -> Backends:
        return replace(backends, embedder=embedder)

    async with serving(
        tmp_path, change=change, report_calls=True, metrics_tenants=True, agent_recalls_per_minute=3
    ) as service:
        yield service


def report(answer: httpx.Response) -> dict[str, Any]:
    """Return what an answer tells, without what nothing was spent of."""
    told: dict[str, Any] = json.loads(answer.headers[HEADER])
    assert list(told) == [
        *("tenant", "method", "route", "tool", "outcome"),
        *("embedding_tokens", "embedded_characters", "model_tokens"),
    ]
    return {name: value for name, value in told.items() if value not in {"", 0}}


async def store(service: Service, content: str = SECRETIVE) -> httpx.Response:
    return await service.post("/store", {"agent_id": "bot", "content": content})


async def recall(service: Service, query: str) -> httpx.Response:
    return await service.post("/recall", {"agent_id": "bot", "query": query})


async def test_no_answer_has_it_unless_that_is_set(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        for path in ("/recall", "/mcp", "/nowhere"):
            assert HEADER not in (await service.post(path, {})).headers


async def test_a_call_tells_whose_it_is_its_route_and_what_was_embedded(service: Service) -> None:
    stored = await store(service)
    assert report(stored) == {
        "tenant": "acme",
        "method": "POST",
        "route": "/store",
        "outcome": "ok",
        "embedding_tokens": 4,
        "embedded_characters": 18,
    }
    assert report(await recall(service, "heron Ystad"))["embedding_tokens"] == 2
    assert report(await recall(service, "heron Ystad")) == {
        "tenant": "acme",
        "method": "POST",
        "route": "/recall",
        "outcome": "ok",
    }, "its vector was remembered"


async def test_it_has_nothing_of_content_query_id_or_credential(service: Service) -> None:
    answers = [
        await store(service),
        await recall(service, "Who saw the heron?"),
        await service.client.delete(f"/memories/{ID}?agent_id=bot", headers=service.credential(admin=True)),
        await service.client.get(f"/memories/{ID}?agent_id=bot", headers=service.credential(admin=True)),
    ]
    for each in answers:
        text = each.headers[HEADER]
        assert not any(part in text for part in ("heron", "bot", ID, "Bearer", "eyJ"))
    assert [report(each)["route"] for each in answers[2:]] == ["/memories/{memory_id}"] * 2


async def test_an_error_tells_its_code_and_whose_call_it_was(service: Service) -> None:
    for _ in range(3):
        await recall(service, "tea")
    headers = service.credential()
    for told, expected in (
        (await recall(service, "tea"), ("acme", "/recall", "quota_exceeded")),
        (await service.post("/recall", {"agent_id": "bot"}), ("acme", "/recall", "invalid_request")),
        (
            await service.client.delete(f"/memories/{ID}", headers=headers),
            ("acme", "/memories/{memory_id}", "forbidden"),
        ),
        (await service.client.post("/recall", json={}), ("", "/recall", "unauthenticated")),
        (await service.client.get(f"/nowhere/{ID}"), ("", "", "no_such_path")),
        (await service.client.request("BREW", "/recall"), ("", "/recall", "method_not_allowed")),
    ):
        found = json.loads(told.headers[HEADER])
        assert (found["tenant"], found["route"], found["outcome"]) == expected


async def test_a_call_that_was_answered_without_a_part_is_degraded(
    service: Service, embedder: CountingEmbedder
) -> None:
    await store(service)
    embedder.fails = True
    assert report(await recall(service, "heron"))["outcome"] == "degraded"
    asked = await service.post("/profiles/bot/recall", {"query": "heron"})
    assert (report(asked)["outcome"], report(asked)["route"]) == ("degraded", "/profiles/{profile}/recall")
    assert report(await store(service, "another"))["outcome"] == "upstream_timeout"


async def test_an_explanation_that_was_made_without_a_part_is_degraded(
    service: Service, embedder: CountingEmbedder
) -> None:
    await store(service)
    (entry,) = (await recall(service, "heron")).json()["entries"]
    asked = {"agent_id": "bot", "query": "heron Ystad", "memory_id": entry["id"]}
    embedder.fails = True
    explained = await service.post("/recall/explain", asked)
    assert explained.json()["degraded"] == ["embedder_unavailable"]
    assert report(explained)["outcome"] == "degraded"
    embedder.fails = False
    assert report(await service.post("/recall/explain", asked))["outcome"] == "ok"


async def test_a_context_that_lacks_a_part_is_degraded_but_not_for_a_memory_that_is_switched_off(
    service: Service, embedder: CountingEmbedder
) -> None:
    await store(service)
    asked = {"agent_id": "bot", "max_tokens": 1000, "query": "tea", "prefetch": True}
    assert report(await service.post("/context/assemble", asked))["outcome"] == "ok"
    embedder.fails = True
    lacking = await service.post("/context/assemble", asked | {"query": "nothing of it"})
    assert [each["part"] for each in lacking.json()["missing"]] == ["long_term"]
    assert report(lacking)["outcome"] == "degraded"
    embedder.fails = False
    await service.client.put("/agents/bot", json={"long_term_enabled": False}, headers=service.credential(admin=True))
    off = await service.post("/context/assemble", asked)
    assert {each["code"] for each in off.json()["missing"]} == {"long_term_disabled"}
    assert report(off)["outcome"] == "ok"


async def test_a_summary_that_its_model_did_not_write_is_degraded(service: Service) -> None:
    model = ScriptedModel({"synthesise": UpstreamTimeout("No answer.")})
    service.runtime.backends = replace(service.runtime.backends, model=model, reader=BelievingReader())
    await store(service)
    summed = await service.post("/profiles/bot/summary", {})
    assert summed.json()["degraded"]
    assert report(summed)["outcome"] == "degraded"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"arguments": {}}, "-32602"),
        ("tools/unknown", {}, "-32601"),
        ("resources/read", {"uri": "memory://nowhere"}, "-32602"),
    ],
)
async def test_an_error_of_the_protocol_in_an_answer_of_200_is_told_by_its_code(
    service: Service, method: str, params: dict[str, Any], code: str
) -> None:
    answered = await service.mcp(method, params)
    assert (answered.status_code, str(answered.json()["error"]["code"])) == (200, code)
    assert report(answered)["outcome"] == code


async def test_a_tool_over_mcp_is_told_by_its_name_and_an_error_in_its_answer_by_its_code(service: Service) -> None:
    told = report(await service.call("store_memory", {"content": SECRETIVE}))
    assert (told["route"], told["tool"], told["outcome"], told["embedding_tokens"]) == ("/mcp", "store_memory", "ok", 4)
    refused = await service.mcp("tools/call", {"name": "recall_memory", "arguments": {"query": ""}})
    assert refused.json()["result"]["isError"] is True
    assert (report(refused)["tool"], report(refused)["outcome"]) == ("recall_memory", "invalid_request")
    unknown = await service.mcp("tools/call", {"name": SECRETIVE, "arguments": {}})
    assert report(unknown) == {"tenant": "acme", "method": "POST", "route": "/mcp", "outcome": "not_found"}
    without = await service.client.post("/mcp", json={})
    assert report(without) == {"method": "POST", "route": "/mcp", "outcome": "unauthenticated"}


async def test_the_tokens_of_a_language_model_are_told(service: Service) -> None:
    model = ScriptedModel({"synthesise": answer((SECRETIVE, [1]))})
    service.runtime.backends = replace(service.runtime.backends, model=model, reader=BelievingReader())
    await store(service)
    told = report(await service.post("/profiles/bot/recall", {"query": "Where is the heron?"}))
    assert told["model_tokens"] == sum(len(call.system) + len(call.user) for call in model.calls) > 0
    assert told["outcome"] == "ok"
    model.answers["synthesise"] = UpstreamTimeout("No answer.")
    assert report(await service.post("/profiles/bot/recall", {"query": "Where?"}))["outcome"] == "degraded"


async def test_metrics_tell_errors_by_tenant_tools_over_mcp_and_the_tokens_of_embeddings(service: Service) -> None:
    await service.call("store_memory", {"content": SECRETIVE})
    await service.mcp("tools/call", {"name": "recall_memory", "arguments": {"query": ""}})
    await service.post("/recall", {"agent_id": "bot"}, tenant="beta")
    metrics = (await service.client.get("/metrics")).text
    for line in (
        'memory_gateway_mcp_tool_calls_total{outcome="ok",tool="store_memory"} 1.0',
        'memory_gateway_mcp_tool_calls_total{outcome="invalid_request",tool="recall_memory"} 1.0',
        'memory_gateway_tenant_errors_total{code="invalid_request",tenant="acme"} 1.0',
        'memory_gateway_tenant_errors_total{code="invalid_request",tenant="beta"} 1.0',
        'memory_gateway_tenant_cost_total{kind="embedding_tokens",tenant="acme"} 4.0',
    ):
        assert line in metrics


async def test_metrics_tell_a_call_over_mcp_whose_caller_went_away_as_gone(tmp_path: Path) -> None:
    gate = Gate()
    async with (
        serving(tmp_path, change=gate.change, metrics_tenants=True) as service,
        listening(service.app, http=guarded(ConnectionLimits())) as url,
    ):
        gate.hold(Moment("embedder.embed", done=False))
        await call_and_go_away(f"{url}/mcp", service, gate)

        async def is_counted() -> bool:
            return counted_as("gone") in (await service.client.get("/metrics")).text

        await until(is_counted)
        metrics = (await service.client.get("/metrics")).text
        gate.open()
    assert counted_as("ok") not in metrics
    assert "memory_gateway_tenant_errors_total{" not in metrics


def counted_as(outcome: str) -> str:
    return f'memory_gateway_mcp_tool_calls_total{{outcome="{outcome}",tool="store_memory"}} 1.0'


async def call_and_go_away(url: str, service: Service, gate: Gate) -> None:
    """Call a tool, and close the connection while it works."""
    call = {"name": "store_memory", "arguments": {"content": SECRETIVE}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    async with httpx.AsyncClient(headers=service.credential(agent="bot"), trust_env=False) as client:
        asked = asyncio.create_task(client.post(url, json=message, headers={"Accept": "application/json"}))
        await gate.reached()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
