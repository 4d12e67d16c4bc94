"""OpenAI's refusals: each is one error of the tree, is not asked again, and shows neither key nor content."""

import asyncio
from typing import Any

import httpx
import pytest
import respx
from structlog.testing import capture_logs

from app.adapters.breaker import TIME_OUTS
from app.adapters.openai.embedder import OpenAIEmbedder
from app.domain.errors import (
    CircuitOpen,
    CredentialsRefused,
    MemoryGatewayError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from tests.adapters.openai.wire import DIMENSIONS, KEY, URL, refusal
from tests.observability.samples import calls, samples

CONTENT = "a secret memory"
UNPAID = ["insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted"]


async def failed(embedder: OpenAIEmbedder) -> MemoryGatewayError:
    with pytest.raises(MemoryGatewayError) as caught:
        await embedder.embed([CONTENT], "document")
    return caught.value


REFUSALS: dict[str, tuple[Any, type[MemoryGatewayError], int | None]] = {
    "429 told": (refusal(429, code="rate_limit_exceeded", retry_after="7"), RateLimited, 7),
    "429 untold": (refusal(429, code="rate_limit_exceeded", kind="requests"), RateLimited, 5),
    "429 with a date": (refusal(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), RateLimited, 5),
    "429 in HTML": (httpx.Response(429, html="<html>"), RateLimited, 5),
    "400": (refusal(400, kind="invalid_request_error"), UpstreamRejected, None),
    "404": (refusal(404, code="model_not_found"), UpstreamRejected, None),
    "408": (refusal(408), UpstreamTimeout, 1),
    "500": (refusal(500, kind="server_error"), UpstreamUnavailable, 1),
    "502 in HTML": (httpx.Response(502, html="<html>"), UpstreamUnavailable, 1),
    "503": (refusal(503, code="server_is_overloaded"), UpstreamOverloaded, 5),
    "503 empty": (httpx.Response(503), UpstreamOverloaded, 5),
    "504": (httpx.Response(504), UpstreamTimeout, 1),
    "301": (httpx.Response(301, headers={"Location": URL}), UpstreamRejected, None),
    "400 a list": (httpx.Response(400, json=[1]), UpstreamRejected, None),
    "400 a text": (httpx.Response(400, json={"error": "text"}), UpstreamRejected, None),
    "400 null": (httpx.Response(400, json={"error": None}), UpstreamRejected, None),
    "400 no UTF-8": (httpx.Response(400, content=b"\xff{"), UpstreamRejected, None),
    "401": (refusal(401, code="invalid_api_key"), CredentialsRefused, None),
    "403": (refusal(403, code="unsupported_country_region_territory"), CredentialsRefused, None),
    "connect": (httpx.ConnectError("refused"), UpstreamUnavailable, 1),
    "half a reply": (httpx.RemoteProtocolError("half a reply"), UpstreamUnavailable, 1),
    "read timeout": (httpx.ReadTimeout("slow"), UpstreamTimeout, 1),
}


@pytest.mark.parametrize(("reply", "kind", "retry_after"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_mapped_once_and_not_asked_again(
    route: respx.Route,
    embedder: OpenAIEmbedder,
    metrics: Metrics,
    reply: Any,
    kind: type[Unavailable],
    retry_after: int | None,
) -> None:
    route.mock(side_effect=[reply])
    error = await failed(embedder)
    assert type(error) is kind
    assert isinstance(error, Unavailable)
    assert error.retry_after == retry_after
    assert CONTENT not in error.detail
    assert route.call_count == 1
    assert calls(metrics) == {("openai.embeddings", kind.code): 1}
    assert samples(metrics, "memory_gateway_embedding_tokens_count") == {}


async def test_a_call_is_given_up_at_its_deadline(route: respx.Route, metrics: Metrics) -> None:
    async def hang(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        return refusal(500)

    route.mock(side_effect=hang)
    embedder = OpenAIEmbedder(api_key=KEY, metrics=metrics, dimensions=DIMENSIONS, seconds=0.02)
    async with asyncio.timeout(2):
        assert type(await failed(embedder)) is UpstreamTimeout
    await embedder.close()


@pytest.mark.parametrize("word", UNPAID)
@pytest.mark.parametrize("status", [429, 400, 403])
@pytest.mark.parametrize("field", ["code", "kind", "both"])
async def test_no_credit_is_not_to_be_waited_for_and_told_to_the_operator(
    route: respx.Route, embedder: OpenAIEmbedder, word: str, status: int, field: str
) -> None:
    fields = {"both": {"code": word, "kind": word}, "kind": {"code": "other", "kind": word}, "code": {"code": word}}
    route.mock(return_value=refusal(status, **fields[field], retry_after="7"))
    with capture_logs() as logs:
        error = await failed(embedder)
    assert isinstance(error, QuotaExhausted)
    assert error.retry_after is None
    assert word in error.detail
    assert [(entry["event"], entry["code"]) for entry in logs] == [("quota_exhausted", word)]
    assert route.call_count == 1


async def test_a_part_of_many_calls_that_fails_ends_them(route: respx.Route, embedder: OpenAIEmbedder) -> None:
    route.mock(return_value=refusal(500))
    with pytest.raises(UpstreamUnavailable):
        await embedder.embed(["x" * 8000] * 100, "document")
    assert route.call_count == 1


@pytest.mark.parametrize("digits", [12, 5000])
async def test_a_retry_after_beyond_all_reason_is_not_passed_on(
    route: respx.Route, embedder: OpenAIEmbedder, digits: int
) -> None:
    route.mock(return_value=refusal(429, retry_after="9" * digits))
    error = await failed(embedder)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 5


QUOTED = f"Incorrect API key provided: {KEY[:12]}*****ghij, or {KEY}. You can find yours at platform.openai.com."


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503, 504])
@pytest.mark.parametrize("code", ["invalid_api_key", None, "insufficient_quota"])
async def test_a_key_that_openai_quotes_is_not_in_the_error(
    route: respx.Route, embedder: OpenAIEmbedder, status: int, code: str | None
) -> None:
    route.mock(return_value=refusal(status, code=code, message=QUOTED))
    with capture_logs() as logs:
        error = await failed(embedder)
    told = error.detail + repr(error) + str(logs)
    assert "sk-proj" not in told
    assert "ghij" not in told


@pytest.mark.parametrize("status", [400, 401, 403, 429])
async def test_a_key_quoted_beside_no_credit_is_not_in_the_error(
    route: respx.Route, embedder: OpenAIEmbedder, status: int
) -> None:
    route.mock(return_value=refusal(status, kind="insufficient_quota", message=QUOTED))
    assert "sk-proj" not in (await failed(embedder)).detail


async def test_a_proxys_key_is_not_in_the_error(route: respx.Route, metrics: Metrics) -> None:
    key = "0123456789abcdef0123456789abcdef"
    route.mock(return_value=refusal(400, message=f"The key {key} is not for this deployment"))
    embedder = OpenAIEmbedder(api_key=key, metrics=metrics, dimensions=DIMENSIONS)
    try:
        assert key not in (await failed(embedder)).detail
    finally:
        await embedder.close()


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_name_the_setting_and_not_the_reason_given(
    route: respx.Route, embedder: OpenAIEmbedder, status: int
) -> None:
    route.mock(return_value=refusal(status, code="invalid_api_key", message=f"{QUOTED} {CONTENT}"))
    with capture_logs() as logs:
        error = await failed(embedder)
    assert "OPENAI_API_KEY" in error.detail
    assert f"({status}, invalid_api_key)" in error.detail
    assert [entry["event"] for entry in logs] == ["credentials_refused"]
    assert CONTENT not in error.detail + str(logs)


@pytest.mark.parametrize("status", [400, 401, 404, 408, 413, 429, 500, 503])
@pytest.mark.parametrize("code", ["invalid_value", CONTENT, None, "insufficient_quota"])
async def test_what_a_server_repeats_of_a_text_is_neither_in_the_error_nor_in_the_log(
    route: respx.Route, embedder: OpenAIEmbedder, status: int, code: str | None
) -> None:
    route.mock(return_value=refusal(status, code=code, message=f"'{CONTENT}' is not valid under any of the schemas"))
    with capture_logs() as logs:
        error = await failed(embedder)
    assert str(status) in error.detail
    assert CONTENT not in error.detail + repr(error) + str(logs)
    assert "schemas" not in error.detail


async def test_a_long_code_is_left_out(route: respx.Route, embedder: OpenAIEmbedder) -> None:
    route.mock(return_value=refusal(400, code="x" * 10_000))
    assert (await failed(embedder)).detail == "OpenAI answered 400 (no code)."


async def test_an_api_that_hangs_is_not_asked_again_for_a_while_and_spends_no_calls_of_the_minute(
    route: respx.Route, metrics: Metrics
) -> None:
    route.mock(side_effect=httpx.ReadTimeout("slow"))
    embedder = OpenAIEmbedder(api_key=KEY, metrics=metrics, dimensions=DIMENSIONS, calls_per_minute=100)
    for _ in range(TIME_OUTS):
        assert type(await failed(embedder)) is UpstreamTimeout
    assert type(await failed(embedder)) is CircuitOpen
    assert route.call_count == TIME_OUTS
    assert samples(metrics, "memory_gateway_embedding_calls_left") == {(): 100 - TIME_OUTS}


async def test_queries_that_got_no_answer_in_their_short_time_do_not_keep_stores_from_being_embedded(
    route: respx.Route, metrics: Metrics
) -> None:
    route.mock(side_effect=httpx.ReadTimeout("slow"))
    embedder = OpenAIEmbedder(api_key=KEY, metrics=metrics, dimensions=DIMENSIONS)
    for _ in range(TIME_OUTS):
        with pytest.raises(UpstreamTimeout):
            await embedder.embed([CONTENT], "query")
    assert type(await failed(embedder)) is UpstreamTimeout
