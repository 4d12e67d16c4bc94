"""Workers AI through both entries of the edge: what its binding answers and throws is what the REST API would say."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai import WorkersAIEmbedder
from app.adapters.cloudflare.workers_ai_reranker import WorkersAIReranker
from app.domain.errors import (
    CredentialsRefused,
    MemoryGatewayError,
    QuotaExhausted,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.ports.embedder import Purpose
from memory_gateway_double.faults import Fault
from tests.conformance.edge import ACCOUNT_ID, ENTRIES, MODELS, SECRET, Edge, Slot, edge_client
from tests.contracts.conftest import cloudflare_client

BGE, QWEN, _ = MODELS
TEXTS = ["The invoice is due on Friday", "Fakturan är sen 🙂", "x" * 20_000]


@pytest.fixture(scope="module")
def slot(edge: Edge) -> Slot:
    return edge.slot()


@pytest.fixture(params=ENTRIES)
def base_url(request: pytest.FixtureRequest, edge: Edge, slot: Slot) -> str:
    return edge.base_url(request.param, slot)


@pytest.fixture
async def client(base_url: str, edge: Edge) -> AsyncIterator[CloudflareClient]:
    async with edge_client(base_url) as client:
        edge.reached()
        yield client


@pytest.fixture
async def rest(edge: Edge) -> AsyncIterator[CloudflareClient]:
    client = cloudflare_client(edge.double)
    yield client
    await client.close()


@pytest.fixture
def fault(edge: Edge) -> Iterator[None]:
    yield
    edge.double.double.faults.clear()


@pytest.mark.parametrize("model", [BGE, QWEN])
@pytest.mark.parametrize("purpose", ["document", "query"])
async def test_an_embedding_is_what_it_is_over_rest(
    edge: Edge, client: CloudflareClient, rest: CloudflareClient, model: str, purpose: Purpose
) -> None:
    found = await WorkersAIEmbedder(client, model).embed(TEXTS, purpose)
    assert edge.reached() == ["AI.run"]
    wanted = await WorkersAIEmbedder(rest, model).embed(TEXTS, purpose)
    np.testing.assert_array_equal(np.array(found.vectors), np.array(wanted.vectors))
    assert [vector.shape for vector in found.vectors] == [(1024,)] * len(TEXTS)


async def test_a_reranking_is_what_it_is_over_rest(
    edge: Edge, client: CloudflareClient, rest: CloudflareClient
) -> None:
    wanted = await WorkersAIReranker(rest).rerank("invoice", TEXTS)
    assert await WorkersAIReranker(client).rerank("invoice", TEXTS) == wanted
    assert edge.reached() == ["AI.run"]


async def test_what_the_service_is_told_of_the_models_is_what_is_configured(base_url: str) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with httpx.AsyncClient(headers=headers, timeout=30, verify=False) as http:
        told = (await http.get(f"{base_url}/accounts/{ACCOUNT_ID}/capabilities")).json()
    assert told["result"]["models"] == list(MODELS)


@pytest.mark.usefixtures("fault")
@pytest.mark.parametrize(
    ("status", "code", "refused"),
    [
        (429, 3036, QuotaExhausted),
        (429, 3040, UpstreamOverloaded),
        (408, 3007, UpstreamTimeout),
        (408, 3008, UpstreamTimeout),
        (413, 3006, UpstreamRejected),
        (400, 5006, UpstreamRejected),
        (400, 5007, UpstreamRejected),
        (400, 3003, UpstreamRejected),
        (404, 3042, UpstreamRejected),
        (403, 3023, CredentialsRefused),
        (403, 3041, CredentialsRefused),
        (403, 5018, CredentialsRefused),
        (403, 5035, CredentialsRefused),
        (500, 3043, UpstreamUnavailable),
    ],
)
async def test_a_refusal_is_what_it_is_over_rest(
    edge: Edge,
    client: CloudflareClient,
    rest: CloudflareClient,
    status: int,
    code: int,
    refused: type[MemoryGatewayError],
) -> None:
    errors = [{"code": code, "message": "AiError: why, as 1 text says: 2024"}]
    for each in (rest, client):
        body = {"success": False, "result": None, "messages": [], "errors": errors}
        edge.double.double.faults.add(Fault("ai.run", status=status, body=body))
        with pytest.raises(refused) as raised:
            await WorkersAIEmbedder(each).embed(["a text"], "document")
        assert type(raised.value) is refused
    assert edge.reached() == ["AI.run"], "a failed call is not made again"


@pytest.mark.usefixtures("fault")
@pytest.mark.parametrize("how", [{"kind": "cut"}, {"status": 502}, {"kind": "invalid_json"}])
async def test_no_answer_of_the_models_is_an_outage(edge: Edge, client: CloudflareClient, how: dict[str, Any]) -> None:
    edge.double.double.faults.add(Fault("ai.run", **how))
    with pytest.raises(UpstreamUnavailable):
        await WorkersAIEmbedder(client).embed(["a text"], "document")
    assert (await WorkersAIEmbedder(client).embed(["a text"], "document")).vectors


async def test_what_the_model_does_not_take_is_refused_in_its_words(base_url: str) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    async with httpx.AsyncClient(headers=headers, timeout=30, verify=False) as http:
        answer = await http.post(f"{base_url}/accounts/{ACCOUNT_ID}/ai/run/{BGE}", json={"texts": ["a text"]})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["code"]) == (400, 5006)
    assert "required properties at '/' are 'text'" in error["message"]
