"""Workers AI's chat completions: what is sent, what refusals become, and what they leave of the call budget."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import httpx
import pytest
import respx
from pydantic import Field

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai_language_model import WorkersAILanguageModel
from app.adapters.upstream import Call
from app.domain.errors import (
    CredentialsRefused,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
)
from app.observability.metrics import Metrics
from app.ports.language_model import STAGES, ModelMessage
from app.services.models.schema import schema
from tests.adapters.cloudflare.wire import ACCOUNT_ID, TOKEN, Clock, answer, body_of, refusal
from tests.observability.samples import calls

MODEL = "@cf/meta/llama-4-scout-17b-16e-instruct"
CONTENT = "a secret message"


@dataclass(frozen=True)
class Answer:
    text: Annotated[str, Field(max_length=9)]


FORM = schema("answer", Answer)


def said(content: Any = '{"text":"word"}') -> httpx.Response:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    return httpx.Response(200, json={"choices": [choice], "usage": {"total_tokens": 12}})


@pytest.fixture
def route(api: respx.MockRouter) -> respx.Route:
    return api.post("/ai/v1/chat/completions")


@pytest.fixture
def model(client: CloudflareClient, metrics: Metrics) -> WorkersAILanguageModel:
    return WorkersAILanguageModel(client, dict.fromkeys(STAGES, MODEL), metrics)


async def ask(model: WorkersAILanguageModel, seconds: float | None = None) -> Answer:
    messages = [ModelMessage("user", CONTENT)]
    return await model.complete(messages, FORM, stage="extract", max_tokens=100, affinity="a1b2", seconds=seconds)


async def test_a_call_sends_the_bare_schema_and_a_limit(
    route: respx.Route, model: WorkersAILanguageModel, metrics: Metrics
) -> None:
    route.mock(return_value=said())
    assert await ask(model) == Answer("word")
    assert route.calls.last.request.headers["x-session-affinity"] == "a1b2"
    assert body_of(route.calls.last) == {
        "model": MODEL,
        "max_tokens": 100,
        "temperature": 0,
        "messages": [{"role": "user", "content": CONTENT}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "title": "answer",
                "type": "object",
                "properties": {"text": {"type": "string", "description": "At most 9 characters."}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
    }
    assert calls(metrics) == {("ai.chat", "ok"): 1}
    assert model.name("extract") == f"workers-ai/{MODEL}"


def compatible(status: int, code: Any, **headers: str) -> httpx.Response:
    """A refusal in OpenAI's form, as the compatible endpoints give it."""
    body = {"error": {"message": CONTENT, "type": "invalid_request_error", "code": code}}
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


REFUSALS: dict[str, tuple[Any, type[MemoryGatewayError], int | None]] = {
    "no such model": (refusal(400, 5007, CONTENT), UpstreamRejected, None),
    "no such model, in OpenAI's form": (compatible(400, "5007"), UpstreamRejected, None),
    "a model's name that is none": (refusal(404, 3042, CONTENT), UpstreamRejected, None),
    "a model that is withdrawn": (refusal(410, 1, CONTENT), UpstreamRejected, None),
    "daily allocation": (refusal(429, 3036, CONTENT), QuotaExhausted, None),
    "daily allocation, in OpenAI's form": (compatible(429, 3036), QuotaExhausted, None),
    "out of capacity": (refusal(429, 3040, CONTENT), UpstreamOverloaded, 5),
    "timeout": (refusal(408, 3007, CONTENT), UpstreamTimeout, 1),
    "too large": (refusal(413, 3006, CONTENT), UpstreamRejected, None),
    "bad input": (refusal(400, 5006, CONTENT), UpstreamRejected, None),
    "private model": (refusal(403, 5018, CONTENT), CredentialsRefused, None),
    "a limit of the model": (compatible(429, None, retry_after="33"), RateLimited, 33),
    "a limit that is not told": (compatible(429, None), RateLimited, 10),
}


@pytest.mark.parametrize(("reply", "kind", "retry_after"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_mapped_once_not_asked_again_and_shows_no_content(
    route: respx.Route,
    model: WorkersAILanguageModel,
    reply: httpx.Response,
    kind: type[MemoryGatewayError],
    retry_after: int | None,
) -> None:
    route.mock(return_value=reply)
    with pytest.raises(kind) as caught:
        await ask(model)
    assert getattr(caught.value, "retry_after", None) == retry_after
    assert MODEL in caught.value.detail
    assert CONTENT not in caught.value.detail
    assert route.call_count == 1


@pytest.mark.parametrize("reply", [refusal(400, 5007), compatible(400, "5007"), refusal(404, 3042), refusal(410)])
async def test_a_model_that_is_gone_is_named_with_the_setting(
    route: respx.Route, model: WorkersAILanguageModel, reply: httpx.Response
) -> None:
    route.mock(return_value=reply)
    with pytest.raises(UpstreamRejected, match=r"no model workers-ai/@cf/meta.* Check LANGUAGE_MODEL_NAME"):
        await ask(model)


@pytest.mark.parametrize("reply", [refusal(400, 5025, "no"), compatible(400, "5025")])
async def test_a_model_without_json_mode_is_given_the_schema_in_the_prompt(
    route: respx.Route, model: WorkersAILanguageModel, reply: httpx.Response
) -> None:
    route.mock(side_effect=[reply, said()])
    assert await ask(model) == Answer("word")
    body = body_of(route.calls.last)
    assert body["response_format"] == {"type": "json_object"}
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


async def test_a_limit_of_the_model_blocks_no_other_call_of_the_account(
    api: respx.MockRouter, route: respx.Route, model: WorkersAILanguageModel, client: CloudflareClient
) -> None:
    route.mock(return_value=compatible(429, None, retry_after="33"))
    with pytest.raises(RateLimited):
        await ask(model)
    route.mock(return_value=said())
    assert await ask(model) == Answer("word")
    del api, client


async def test_the_limit_on_all_calls_blocks_this_one_too(route: respx.Route, model: WorkersAILanguageModel) -> None:
    block = "More than 1200 requests per 300 seconds reached. Please wait and consider throttling your request speed"
    route.mock(return_value=refusal(429, 971, block, retry_after="120"))
    for _ in range(2):
        with pytest.raises(RateLimited) as caught:
            await ask(model)
        assert caught.value.retry_after == 120
    assert route.call_count == 1


async def test_calls_of_models_leave_connections_to_requests(
    api: respx.MockRouter, route: respx.Route, model: WorkersAILanguageModel, client: CloudflareClient
) -> None:
    done = asyncio.Event()

    async def slowly(_: httpx.Request) -> httpx.Response:
        await done.wait()
        return said()

    route.mock(side_effect=slowly)
    api.post("/thing").mock(return_value=answer("done"))
    calls = [asyncio.create_task(ask(model)) for _ in range(120)]
    await asyncio.sleep(0.05)
    assert route.call_count < 60
    async with asyncio.timeout(5):
        assert (await client.call(Call("thing.do", "POST", "/thing", b"{}"))).result == "done"
    with pytest.raises(UpstreamTimeout, match="kept it waiting"):
        await ask(model, seconds=0.05)
    done.set()
    assert await asyncio.gather(*calls) == [Answer("word")] * 120


async def test_calls_of_models_leave_a_quarter_of_the_budget_to_requests(route: respx.Route, metrics: Metrics) -> None:
    route.mock(return_value=said())
    budget = CallBudget(8, clock=Clock())
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=budget, metrics=metrics)
    model = WorkersAILanguageModel(client, dict.fromkeys(STAGES, MODEL), metrics)
    for _ in range(6):
        await ask(model)
    with pytest.raises(RateLimited, match="no call is let through") as caught:
        await ask(model)
    await client.close()
    assert (route.call_count, budget.left(), caught.value.retry_after) == (6, 2, 300)


async def test_a_call_of_a_model_that_waits_for_its_share_ends_at_its_deadline_and_spends_nothing(
    route: respx.Route, metrics: Metrics
) -> None:
    route.mock(return_value=said())
    budget = CallBudget(100, clock=Clock())
    budget.lease(100, 60, unreported=1)
    answered = asyncio.Event()

    async def report() -> None:
        await answered.wait()
        budget.lease(100, 60, unreported=50)

    budget.report_by(report)
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=budget, metrics=metrics)
    model = WorkersAILanguageModel(client, dict.fromkeys(STAGES, MODEL), metrics)
    waiting = [asyncio.create_task(ask(model, seconds=0.05)) for _ in range(60)]
    async with asyncio.timeout(5):
        for call in waiting:
            with pytest.raises(UpstreamTimeout, match="kept it waiting"):
                await call
    answered.set()
    assert (budget.left(), route.call_count) == (100, 0)
    assert await ask(model) == Answer("word")
    await client.close()
