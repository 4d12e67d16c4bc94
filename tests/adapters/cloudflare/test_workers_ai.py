"""Workers AI: what each model is sent, and what its answers and refusals become."""

from typing import Any

import httpx
import numpy as np
import pytest
import respx
from structlog.testing import capture_logs

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai import WorkersAIEmbedder
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import (
    CloudflareBlocks,
    ConfigurationError,
    CredentialsRefused,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from app.ports.embedder import Purpose
from tests.adapters.cloudflare.wire import answer, body_of, html, refusal
from tests.observability.samples import calls

CONTENT = "a secret memory"
BGE = "@cf/baai/bge-m3"
QWEN = "@cf/qwen/qwen3-embedding-0.6b"
SMALL = "@cf/baai/bge-small-en-v1.5"
MODELS = {
    BGE: 1024,
    QWEN: 1024,
    "@cf/google/embeddinggemma-300m": 768,
    SMALL: 384,
    "@cf/baai/bge-base-en-v1.5": 768,
    "@cf/baai/bge-large-en-v1.5": 1024,
}


def embedded(count: int, dimensions: int = 384) -> httpx.Response:
    """So many vectors, each along an axis of its own."""
    data = [[3.0 if axis == number else 0.0 for axis in range(dimensions)] for number in range(count)]
    return answer({"shape": [count, dimensions], "data": data})


def replying(dimensions: int) -> Any:
    """Answer as many vectors as there are inputs."""

    def reply(request: httpx.Request) -> httpx.Response:
        ((_, inputs),) = httpx.Response(200, content=request.content).json().items()
        return embedded(len(inputs), dimensions)

    return reply


@pytest.fixture
def embedder(client: CloudflareClient) -> WorkersAIEmbedder:
    return WorkersAIEmbedder(client, SMALL)


@pytest.mark.parametrize(("model", "dimensions"), MODELS.items())
@pytest.mark.parametrize("purpose", ["document", "query"])
async def test_each_model_is_sent_texts_under_the_name_it_has_for_them(
    api: respx.MockRouter, client: CloudflareClient, model: str, dimensions: int, purpose: Purpose
) -> None:
    route = api.post(f"/ai/run/{model}").mock(side_effect=replying(dimensions))
    embedder = WorkersAIEmbedder(client, model)
    result = await embedder.embed(["one", "two"], purpose)
    field = {"document": "documents", "query": "queries"}[purpose] if model == QWEN else "text"
    assert body_of(route.calls.last) == {field: ["one", "two"]}
    assert embedder.config == EmbeddingConfig("workers-ai", model, dimensions)
    assert result.tokens is None
    assert [np.flatnonzero(vector).tolist() for vector in result.vectors] == [[0], [1]]
    assert all(vector.dtype == np.float32 and np.linalg.norm(vector) == 1 for vector in result.vectors)


@pytest.mark.parametrize(("model", "most"), [(BGE, 100), (QWEN, 32)])
async def test_a_call_takes_as_many_texts_as_the_model(
    api: respx.MockRouter, client: CloudflareClient, model: str, most: int
) -> None:
    route = api.post(f"/ai/run/{model}").mock(side_effect=replying(1024))
    texts = [f"text {number}" for number in range(2 * most + 1)]
    result = await WorkersAIEmbedder(client, model).embed(texts, "document")
    ((field, _),) = body_of(route.calls.last).items()
    sent = [body_of(call)[field] for call in route.calls]
    assert [len(inputs) for inputs in sent] == [most, most, 1]
    assert [text for inputs in sent for text in inputs] == texts
    assert [int(np.argmax(vector)) for vector in result.vectors] == [*range(most), *range(most), 0]


@pytest.mark.parametrize(("model", "window"), [(BGE, 8000), ("@cf/google/embeddinggemma-300m", 2000), (SMALL, 500)])
async def test_a_long_text_is_sent_in_windows_the_model_takes(
    api: respx.MockRouter, client: CloudflareClient, model: str, window: int
) -> None:
    route = api.post(f"/ai/run/{model}").mock(side_effect=replying(MODELS[model]))
    result = await WorkersAIEmbedder(client, model).embed(["é" * window, "short"], "document")
    assert [len(text.encode()) for text in body_of(route.calls.last)["text"]] == [window, window, 5]
    assert len(result.vectors) == 2
    np.testing.assert_allclose(result.vectors[0][:2], [0.5**0.5] * 2, rtol=1e-6)


async def test_a_call_takes_300000_bytes(api: respx.MockRouter, client: CloudflareClient) -> None:
    route = api.post(f"/ai/run/{BGE}").mock(side_effect=replying(1024))
    await WorkersAIEmbedder(client).embed(["x" * 8000] * 38, "document")
    assert [len(body_of(call)["text"]) for call in route.calls] == [37, 1]


async def test_no_texts_are_no_call_and_a_ping_is_one_word(api: respx.MockRouter, embedder: WorkersAIEmbedder) -> None:
    route = api.post(f"/ai/run/{SMALL}").mock(return_value=embedded(1))
    assert list((await embedder.embed([], "document")).vectors) == []
    assert route.call_count == 0
    await embedder.ping()
    assert body_of(route.calls.last) == {"text": ["ping"]}


REFUSALS: list[tuple[httpx.Response, type[MemoryGatewayError], str]] = [
    (refusal(429, 3036, f"used up by {CONTENT}"), QuotaExhausted, "daily allocation is used up"),
    (refusal(429, 3040, f"No more capacity for {CONTENT}"), UpstreamOverloaded, "no capacity left"),
    (refusal(408, 3007, f"Timeout at {CONTENT}"), UpstreamTimeout, "408/3007: it took too long"),
    (refusal(408, 3008, f"Aborted at {CONTENT}"), UpstreamTimeout, "408/3008: it took too long"),
    (refusal(400, 5007, f"No such model for {CONTENT}"), UpstreamRejected, "400/5007"),
    (refusal(413, 3006, f"Request is too large: {CONTENT}"), UpstreamRejected, "413/3006"),
    (refusal(500, 5000, f"Cannot read {CONTENT}"), UpstreamUnavailable, "500/5000"),
    (refusal(429, 3001, f"Too many of {CONTENT}"), RateLimited, "3001"),
    (refusal(403, 5018, f"Not allowed: {CONTENT}"), CredentialsRefused, "5018"),
    (refusal(429, 971, f"Please wait with {CONTENT}", retry_after="9"), CloudflareBlocks, "blocked"),
    (html(502), UpstreamUnavailable, "502"),
]


@pytest.mark.parametrize(("reply", "kind", "said"), REFUSALS, ids=[said for _, _, said in REFUSALS])
async def test_a_refusal_is_mapped_once_and_not_asked_again(
    api: respx.MockRouter,
    embedder: WorkersAIEmbedder,
    metrics: Metrics,
    reply: httpx.Response,
    kind: type[MemoryGatewayError],
    said: str,
) -> None:
    route = api.post(f"/ai/run/{SMALL}").mock(return_value=reply)
    with pytest.raises(MemoryGatewayError) as caught, capture_logs() as logs:
        await embedder.embed([CONTENT], "document")
    assert type(caught.value) is kind
    assert said in caught.value.detail
    assert CONTENT not in caught.value.detail + str(logs)
    assert route.call_count == 1
    assert calls(metrics) == {("ai.run", kind.code): 1}


@pytest.mark.parametrize("code", [3036, 3040])
async def test_a_429_of_the_model_blocks_no_other_call(
    api: respx.MockRouter, embedder: WorkersAIEmbedder, code: int
) -> None:
    route = api.post(f"/ai/run/{SMALL}").mock(side_effect=[refusal(429, code, retry_after="60"), embedded(1)])
    with pytest.raises((QuotaExhausted, UpstreamOverloaded)):
        await embedder.ping()
    await embedder.ping()
    assert route.call_count == 2


async def test_a_used_up_allocation_is_told_to_the_operator_and_not_to_be_waited_for(
    api: respx.MockRouter, embedder: WorkersAIEmbedder
) -> None:
    api.post(f"/ai/run/{SMALL}").mock(return_value=refusal(429, 3036, "used up"))
    with capture_logs() as logs, pytest.raises(QuotaExhausted) as caught:
        await embedder.ping()
    assert caught.value.retry_after is None
    assert [(entry["event"], entry["code"]) for entry in logs] == [("quota_exhausted", 3036)]


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        {},
        {"data": None},
        {"data": 1},
        {"data": ["text"]},
        {"data": [{"a": 1}]},
        {"data": []},
        {"data": [[1.0] * 384] * 2},
        {"data": [[1.0] * 383]},
        {"data": [[[1.0] * 384]]},
        {"data": [[0.0] * 384]},
        {"data": [[None] + [1.0] * 383]},
    ],
)
async def test_an_answer_of_another_shape_is_not_believed(
    api: respx.MockRouter, embedder: WorkersAIEmbedder, result: Any
) -> None:
    route = api.post(f"/ai/run/{SMALL}").mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected):
        await embedder.embed(["text"], "document")
    assert route.call_count == 1


async def test_a_number_beyond_a_float32_is_not_believed(api: respx.MockRouter, embedder: WorkersAIEmbedder) -> None:
    api.post(f"/ai/run/{SMALL}").mock(return_value=answer({"data": [[1e300] * 384]}))
    with pytest.raises(UpstreamRejected):
        await embedder.embed(["text"], "document")


async def test_a_model_that_is_not_known_is_refused_with_those_that_are(client: CloudflareClient) -> None:
    with pytest.raises(ConfigurationError, match=BGE) as caught:
        WorkersAIEmbedder(client, "@cf/meta/llama")
    assert "@cf/meta/llama" in caught.value.detail
