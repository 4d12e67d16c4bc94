"""Chat completions over HTTP: what is sent, and what refusals become."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import httpx
import pytest
import respx
from pydantic import Field
from structlog.testing import capture_logs

from app.adapters.breaker import TIME_OUTS
from app.adapters.http.language_model import HttpLanguageModel
from app.domain.errors import (
    CircuitOpen,
    CredentialsRefused,
    MemoryGatewayError,
    ModelAnswerRejected,
    QuotaExhausted,
    RateLimited,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from app.ports.language_model import STAGES, ModelMessage, Spent, Stage
from app.services.models.schema import schema
from tests.observability.samples import calls

BASE = "https://models.example/v1"
KEY = "sk-models-0123456789"
TLS = httpx.create_ssl_context()
CONTENT = "a secret message"


@dataclass(frozen=True)
class Answer:
    text: Annotated[str, Field(min_length=2, max_length=9, pattern="^[a-z]+$", description="A word.")]
    numbers: Annotated[list[int], Field(min_length=1, max_length=3)]


FORM = schema("answer", Answer)
GOOD = '{"text":"word","numbers":[1]}'
MESSAGES = [ModelMessage("system", "Answer."), ModelMessage("user", CONTENT)]


def said(content: Any, finish_reason: str = "stop", **more: Any) -> httpx.Response:
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": content}}
    return httpx.Response(200, json={"choices": [choice], "usage": {"total_tokens": 12}, **more})


@pytest.fixture
def route(monkeypatch: pytest.MonkeyPatch) -> Iterator[respx.Route]:
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: TLS)
    with respx.mock(assert_all_called=False) as router:
        yield router.post(f"{BASE}/chat/completions")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def model(route: respx.Route, metrics: Metrics) -> AsyncIterator[HttpLanguageModel]:
    del route  # entered first, left last
    names = dict.fromkeys(STAGES, "gpt-4.1-mini")
    model = HttpLanguageModel(names, base_url=f"{BASE}/", api_key=KEY, metrics=metrics, provider="openai")
    yield model
    await model.close()


async def ask(
    model: HttpLanguageModel, spent: list[Spent] | None = None, *, stage: Stage = "extract", seconds: float = 5
) -> Answer:
    told = [] if spent is None else spent
    return await model.complete(
        MESSAGES, FORM, stage=stage, max_tokens=100, affinity="a1b2", spent=told.append, seconds=seconds
    )


def sent(route: respx.Route) -> Any:
    return json.loads(route.calls.last.request.content)


async def test_openai_is_sent_the_schema_strictly_and_the_limit_as_its_models_want_it(
    route: respx.Route, model: HttpLanguageModel, metrics: Metrics
) -> None:
    route.mock(return_value=said(GOOD))
    spent: list[Spent] = []
    assert await ask(model, spent) == Answer("word", [1])
    request = route.calls.last.request
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-session-affinity"] == "a1b2"
    assert request.headers["content-type"] == "application/json"
    assert sent(route) == {
        "model": "gpt-4.1-mini",
        "max_completion_tokens": 100,
        "temperature": 0,
        "messages": [{"role": "system", "content": "Answer."}, {"role": "user", "content": CONTENT}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "strict": True,
                "schema": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "A word. 2 to 9 characters. Matches ^[a-z]+$."},
                        "numbers": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer"}},
                    },
                    "required": ["text", "numbers"],
                    "additionalProperties": False,
                },
            },
        },
    }
    assert spent == [Spent("extract", "openai/gpt-4.1-mini", 12)]
    assert calls(metrics) == {("openai.chat", "ok"): 1}


async def test_a_server_of_one_model_is_sent_neither_model_nor_key(route: respx.Route, metrics: Metrics) -> None:
    route.mock(return_value=said(GOOD))
    model = HttpLanguageModel(dict.fromkeys(STAGES), base_url=BASE, metrics=metrics)
    await ask(model)
    await model.ping()
    await model.close()
    assert "authorization" not in route.calls.last.request.headers
    assert sent(route).keys() == {"messages", "max_tokens", "temperature"}
    assert (model.name("extract"), route.call_count) == ("http", 2)


async def test_what_a_rule_of_the_schema_is_not_sent_as_holds_all_the_same(
    route: respx.Route, model: HttpLanguageModel
) -> None:
    route.mock(return_value=said('{"text":"much too long","numbers":[1]}'))
    with pytest.raises(ModelAnswerRejected):
        await ask(model)


async def test_the_beginning_of_an_answer_that_cannot_be_read_is_shown_again(
    route: respx.Route, model: HttpLanguageModel
) -> None:
    route.mock(side_effect=[said("x" * 100_000), said(GOOD)])
    await ask(model)
    (_, _, shown, told) = sent(route)["messages"]
    assert shown == {"role": "assistant", "content": "x" * 2000}
    assert "not JSON" in told["content"]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 12, "prompt_tokens": 10, "completion_tokens": 2}, 12),
        ({"prompt_tokens": 10, "completion_tokens": 2}, 12),
        ({"total_tokens": -1}, 0),
        ({"total_tokens": "12"}, 0),
        ({"total_tokens": True}, 0),
        (None, 0),
        ([], 0),
    ],
)
async def test_tokens_are_counted_as_far_as_the_server_tells_them(
    route: respx.Route, model: HttpLanguageModel, usage: Any, tokens: int
) -> None:
    route.mock(return_value=said(GOOD, usage=usage))
    spent: list[Spent] = []
    await ask(model, spent)
    assert [each.tokens for each in spent] == [tokens]


async def test_tokens_of_reasoning_are_given_beside_those_of_the_answer_from_then_on(
    route: respx.Route, model: HttpLanguageModel
) -> None:
    route.mock(return_value=said(GOOD, usage={"completion_tokens_details": {"reasoning_tokens": 64}}))
    await ask(model)
    await ask(model)
    assert sent(route)["max_completion_tokens"] > 4000


def refusal(status: int, body: Any = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): text for name, text in headers.items()})


def error(code: Any = None, **more: Any) -> Any:
    return {"error": {"message": CONTENT, "code": code, **more}}


REFUSALS: dict[str, tuple[Any, type[MemoryGatewayError], int | None]] = {
    "429 told": (refusal(429, error(), retry_after="7"), RateLimited, 7),
    "429 untold": (refusal(429), RateLimited, 5),
    "429 with a date": (refusal(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), RateLimited, 5),
    "429 for too long": (refusal(429, retry_after="9" * 5000), RateLimited, 5),
    "429 without credit": (refusal(429, error("insufficient_quota")), QuotaExhausted, None),
    "429 without credit by type": (refusal(429, error("x", type="insufficient_quota")), QuotaExhausted, None),
    "402": (refusal(402, error()), QuotaExhausted, None),
    "401": (refusal(401, {"error": {"message": f"Incorrect key {KEY}"}}), CredentialsRefused, None),
    "403": (refusal(403, error(CONTENT)), CredentialsRefused, None),
    "408": (refusal(408), UpstreamTimeout, 1),
    "504": (refusal(504), UpstreamTimeout, 1),
    "500": (refusal(500, error(CONTENT)), UpstreamUnavailable, 1),
    "502 in HTML": (httpx.Response(502, html=CONTENT), UpstreamUnavailable, 1),
    "503": (refusal(503), UpstreamOverloaded, 5),
    "529": (refusal(529), UpstreamOverloaded, 5),
    "413": (refusal(413, error()), UpstreamRejected, None),
    "301": (httpx.Response(301, headers={"Location": BASE}), UpstreamRejected, None),
    "connect": (httpx.ConnectError("refused"), UpstreamUnavailable, 1),
    "read timeout": (httpx.ReadTimeout("slow"), UpstreamTimeout, 1),
}


@pytest.mark.parametrize(("reply", "kind", "retry_after"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_mapped_once_not_asked_again_and_shows_neither_key_nor_content(
    route: respx.Route,
    model: HttpLanguageModel,
    metrics: Metrics,
    reply: Any,
    kind: type[MemoryGatewayError],
    retry_after: int | None,
) -> None:
    route.mock(side_effect=[reply])
    with capture_logs() as logs, pytest.raises(MemoryGatewayError) as caught:
        await ask(model)
    assert type(caught.value) is kind
    assert getattr(caught.value, "retry_after", None) == retry_after
    assert "openai/gpt-4.1-mini" in caught.value.detail
    told = caught.value.detail + repr(caught.value) + str(logs)
    assert CONTENT not in told
    assert KEY not in told
    assert calls(metrics) == {("openai.chat", kind.code): 1}
    events: dict[Any, list[str]] = {QuotaExhausted: ["quota_exhausted"], CredentialsRefused: ["credentials_refused"]}
    assert [entry["event"] for entry in logs] == events.get(kind, [])


@pytest.mark.parametrize(
    "reply",
    [
        refusal(404, error("model_not_found")),
        refusal(404, {"error": f"model not found: {CONTENT}"}),
        refusal(410),
        refusal(400, error(None, param="model")),
        refusal(400, error("model_decommissioned")),
        httpx.Response(404, html="<h1>Not Found</h1>"),
    ],
)
async def test_a_model_that_is_gone_is_named_with_the_settings(
    route: respx.Route, model: HttpLanguageModel, reply: httpx.Response
) -> None:
    route.mock(return_value=reply)
    with pytest.raises(UpstreamRejected, match=r"no model openai/gpt-4\.1-mini") as caught:
        await ask(model)
    for name in ("LANGUAGE_MODEL_NAME", "LANGUAGE_MODEL_NAMES", "LANGUAGE_MODEL_BASE_URL"):
        assert name in caught.value.detail
    assert CONTENT not in caught.value.detail
    assert route.call_count == 1


@pytest.mark.parametrize(
    "reply",
    [refusal(400, {"error": {"type": "invalid_request_error", "message": CONTENT}}), refusal(404, {"error": {}})],
)
async def test_where_no_model_is_named_a_refusal_says_that_the_server_may_need_the_name(
    route: respx.Route, reply: httpx.Response
) -> None:
    route.mock(return_value=reply)
    model = HttpLanguageModel(dict.fromkeys(STAGES), base_url=BASE, metrics=Metrics())
    with pytest.raises(UpstreamRejected, match="LANGUAGE_MODEL_NAME is not set: the server may need it") as caught:
        await ask(model)
    await model.close()
    for wrong in ("no model http", "None", CONTENT):
        assert wrong not in caught.value.detail


@pytest.mark.parametrize("status", [400, 422, 501])
@pytest.mark.parametrize(
    "message",
    [
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "'response_format.type' must be 'json_schema' or 'text'",
        "Failed to parse grammar",
        "Structured outputs are not available",
    ],
)
async def test_a_refusal_of_the_form_makes_the_next_one_be_tried(
    route: respx.Route, model: HttpLanguageModel, status: int, message: str
) -> None:
    route.mock(side_effect=[refusal(status, {"error": {"message": message}}), said(GOOD)])
    assert await ask(model) == Answer("word", [1])
    assert sent(route)["response_format"] == {"type": "json_object"}


async def test_a_refusal_of_something_else_is_no_reason_to_try_again(
    route: respx.Route, model: HttpLanguageModel
) -> None:
    route.mock(return_value=refusal(400, error("context_length_exceeded")))
    with pytest.raises(UpstreamRejected, match="context_length_exceeded"):
        await ask(model)
    assert route.call_count == 1


async def test_a_server_that_refuses_everything_is_given_up(route: respx.Route, model: HttpLanguageModel) -> None:
    route.mock(return_value=refusal(400, {"error": {"message": "max_completion_tokens temperature json_schema"}}))
    with pytest.raises(UpstreamRejected):
        await ask(model)
    assert route.call_count <= 5


async def test_what_was_left_out_in_vain_is_not_left_out_the_next_time(
    route: respx.Route, model: HttpLanguageModel
) -> None:
    route.mock(side_effect=[refusal(400, {"error": {"message": "temperature"}}), refusal(500), said(GOOD)])
    with pytest.raises(UpstreamUnavailable):
        await ask(model)
    await ask(model)
    assert sent(route)["temperature"] == 0


async def test_a_model_that_hangs_is_not_asked_again_for_a_while_but_recalls_do_not_end_what_ingestions_ask(
    route: respx.Route, metrics: Metrics
) -> None:
    route.mock(side_effect=httpx.ReadTimeout("slow"))
    model = HttpLanguageModel(dict.fromkeys(STAGES, "small"), base_url=BASE, metrics=metrics)
    for _ in range(TIME_OUTS):
        with pytest.raises(UpstreamTimeout):
            await ask(model, stage="analyse")
    with pytest.raises(CircuitOpen):
        await ask(model, stage="synthesise")
    with pytest.raises(UpstreamTimeout):
        await ask(model, stage="extract")
    assert route.call_count == TIME_OUTS + 1


async def test_a_model_that_was_given_little_time_may_be_asked_again(route: respx.Route, metrics: Metrics) -> None:
    route.mock(side_effect=httpx.ReadTimeout("slow"))
    model = HttpLanguageModel(dict.fromkeys(STAGES, "small"), base_url=BASE, metrics=metrics)
    for _ in range(TIME_OUTS + 1):
        with pytest.raises(UpstreamTimeout):
            await ask(model, stage="analyse", seconds=0.5)
    assert route.call_count == TIME_OUTS + 1
