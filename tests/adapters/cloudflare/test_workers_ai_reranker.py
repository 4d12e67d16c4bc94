"""Workers AI's reranker: what it is sent, and what its answers and refusals become."""

from typing import Any

import httpx
import pytest
import respx

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai_reranker import WorkersAIReranker
from app.domain.errors import (
    CloudflareBlocks,
    ConfigurationError,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
)
from app.observability.metrics import Metrics
from tests.adapters.cloudflare.wire import ACCOUNT_ID, TOKEN, answer, body_of, refusal
from tests.observability.samples import calls

MODEL = "@cf/baai/bge-reranker-base"


def rated(*results: Any) -> httpx.Response:
    return answer({"response": list(results), "usage": {"prompt_tokens": 5}})


@pytest.fixture
def route(api: respx.MockRouter) -> respx.Route:
    return api.post(f"/ai/run/{MODEL}")


@pytest.fixture
def reranker(client: CloudflareClient) -> WorkersAIReranker:
    return WorkersAIReranker(client)


async def test_a_call_sends_the_query_and_all_texts_and_wants_each_rated(
    route: respx.Route, reranker: WorkersAIReranker, metrics: Metrics
) -> None:
    route.mock(return_value=rated({"id": 1, "score": 0.993}, {"id": 0, "score": 0.0001}))
    assert await reranker.rerank("question", ["one", "två"], tenant_id="acme") == [0.0001, 0.993]
    assert body_of(route.calls.last) == {
        "query": "question",
        "contexts": [{"text": "one"}, {"text": "två"}],
        "top_k": 2,
    }
    assert calls(metrics) == {("ai.rerank", "ok"): 1}
    assert reranker.name == f"workers-ai/{MODEL}"


async def test_a_call_counts_in_the_budget_of_all_calls_of_the_account(route: respx.Route, metrics: Metrics) -> None:
    route.mock(return_value=rated({"id": 0, "score": 0.5}))
    budget = CallBudget(1)
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=budget, metrics=metrics)
    reranker = WorkersAIReranker(client)
    await reranker.ping()
    with pytest.raises(RateLimited):
        await reranker.ping()
    await client.close()
    assert (route.call_count, budget.left()) == (1, 0)


@pytest.mark.parametrize(
    "result",
    [
        *(None, [], {}, 1, "text", {"response": None}, {"response": 1}, {"response": []}, {"response": {"0": 1}}),
        {"response": [{"id": 0}]},
        {"response": [{"score": 0.5}]},
        {"response": [{"id": 1, "score": 0.5}]},
        {"response": [{"id": 0, "score": 0.5}] * 2},
        {"response": [{"id": 0, "score": None}]},
        {"response": [None]},
    ],
)
async def test_an_answer_that_does_not_rate_each_text_once_is_not_believed(
    route: respx.Route, reranker: WorkersAIReranker, result: Any
) -> None:
    route.mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected):
        await reranker.rerank("question", ["text"])
    assert route.call_count == 1


REFUSALS: list[tuple[httpx.Response, type[MemoryGatewayError]]] = [
    (refusal(429, 3036, "daily free allocation used up"), QuotaExhausted),
    (refusal(429, 3040, "No more capacity"), UpstreamOverloaded),
    (refusal(408, 3007, "Timeout"), UpstreamTimeout),
    (refusal(400, 5007, "No such model"), UpstreamRejected),
    (refusal(429, 971, "Please wait", retry_after="9"), CloudflareBlocks),
]


@pytest.mark.parametrize(("reply", "kind"), REFUSALS, ids=[kind.__name__ for _, kind in REFUSALS])
async def test_a_refusal_is_mapped_as_the_embedders_is(
    route: respx.Route, reranker: WorkersAIReranker, reply: httpx.Response, kind: type[MemoryGatewayError]
) -> None:
    route.mock(return_value=reply)
    with pytest.raises(MemoryGatewayError) as caught:
        await reranker.rerank("a secret question", ["a secret memory"])
    assert type(caught.value) is kind
    assert "secret" not in caught.value.detail
    assert route.call_count == 1


async def test_a_model_that_is_not_known_is_refused_with_the_one_that_is(client: CloudflareClient) -> None:
    with pytest.raises(ConfigurationError, match=MODEL) as caught:
        WorkersAIReranker(client, "@cf/baai/bge-m3")
    assert "@cf/baai/bge-m3" in caught.value.detail
