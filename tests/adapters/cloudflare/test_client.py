"""One call to Cloudflare: what is sent, and what is made of the answer."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
import respx
from structlog.testing import capture_logs

from app.adapters.breaker import TIME_OUTS
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.upstream import Call
from app.domain.errors import (
    CircuitOpen,
    CredentialsRefused,
    MemoryGatewayError,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from tests.adapters.cloudflare.wire import ACCOUNT, DATE_MS, TOKEN, answer, html, refusal
from tests.observability.samples import calls, samples

CALL = Call("thing.do", "POST", "/thing", b'{"content":"a secret memory"}')
SECRETS = (TOKEN, "a secret memory")


async def refused(client: CloudflareClient, call: Call = CALL) -> MemoryGatewayError:
    with pytest.raises(MemoryGatewayError) as caught:
        await client.call(call)
    return caught.value


async def test_a_call_goes_to_the_account_with_its_token_and_body(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    route = api.post("/thing").respond(json={"success": True})
    await client.call(CALL)
    request = route.calls.last.request
    assert str(request.url) == f"{ACCOUNT}/thing"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "gzip, deflate"
    assert request.content == CALL.content


async def test_a_call_without_a_body_has_its_query_and_no_content_type(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    route = api.get("/things").respond(json={"success": True})
    await client.call(Call("thing.list", "GET", "/things", query={"name": "a b&c"}))
    await client.call(Call("thing.list", "GET", "/things", query={"name": "other"}))
    assert [call.request.url.params["name"] for call in route.calls] == ["a b&c", "other"]
    assert "content-type" not in route.calls.last.request.headers


async def test_an_answer_is_the_envelopes_result_with_cloudflares_clock(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    api.post("/thing").mock(return_value=answer({"a": 1}, result_info={"cursor": "c"}))
    got = await client.call(CALL)
    assert (got.result, got.info, got.at) == ({"a": 1}, {"cursor": "c"}, DATE_MS)


@pytest.mark.parametrize(
    "date", [None, "", "soon", "Fri, 20 Nov 99999 10:00:00 GMT", f"Fri, 20 Nov 2026 {'9' * 20}:00:00 GMT"]
)
async def test_an_answer_without_a_date_that_can_be_read_does_not_say_when(
    api: respx.MockRouter, client: CloudflareClient, date: str | None
) -> None:
    api.post("/thing").mock(return_value=answer(date=date))
    assert (await client.call(CALL)).at is None


@pytest.mark.parametrize("date", ["Fri, 20 Nov 2026 10:00:00", "Fri, 20 Nov 2026 10:00:00 -0000"])
async def test_a_date_without_a_zone_breaks_nothing(api: respx.MockRouter, client: CloudflareClient, date: str) -> None:
    api.post("/thing").mock(return_value=answer(date=date))
    assert (await client.call(CALL)).at in {DATE_MS, None}


REFUSALS: list[tuple[httpx.Response, type[MemoryGatewayError], str]] = [
    (refusal(400, 1234, "no such field"), UpstreamRejected, "thing.do with 400/1234: no such field"),
    (refusal(408, 1, "slow"), UpstreamTimeout, "408/1: slow"),
    (refusal(404, 7003, "no route"), UpstreamRejected, "404/7003: no route"),
    (refusal(404, 7003, "no route"), UpstreamRejected, "Check CLOUDFLARE_ACCOUNT_ID"),
    (refusal(400, 6003, f"Invalid request headers: {TOKEN}"), CredentialsRefused, "CLOUDFLARE_API_TOKEN"),
    (refusal(413, 3006, "too large"), UpstreamRejected, "413/3006"),
    (refusal(500, 9, "broken"), UpstreamUnavailable, "500/9: broken"),
    (html(502), UpstreamUnavailable, "502/0: no reason given"),
    (html(520), UpstreamUnavailable, "520/0"),
    (httpx.Response(503, text=""), UpstreamUnavailable, "503/0"),
    (httpx.Response(504, json={"errors": []}), UpstreamUnavailable, "504/0"),
    (refusal(200, 77, "not done after all"), UpstreamRejected, "200/77: not done after all"),
    (httpx.Response(200, json={"success": "true", "result": 1}), UpstreamRejected, "200/0: no reason given"),
    (httpx.Response(200, json={"result": 1}), UpstreamRejected, "200/0"),
    (httpx.Response(200, json=[1]), UpstreamRejected, "200/0"),
    (httpx.Response(200, content=b"null"), UpstreamRejected, "200/0"),
    (html(200), UpstreamRejected, "not JSON"),
    (httpx.Response(200, content=b'{"success":true,"resul'), UpstreamRejected, "not JSON"),
    (httpx.Response(204), UpstreamRejected, "not JSON"),
    (httpx.Response(301, headers={"Location": "https://example.com/"}), UpstreamRejected, "301/0"),
    (httpx.Response(400, json={"code": 10001, "error": "invalid"}), UpstreamRejected, "400/10001: invalid"),
    (httpx.Response(500, json={"code": "x", "error": "invalid"}), UpstreamUnavailable, "500/0: invalid"),
    (httpx.Response(400, json={"errors": ["text"]}), UpstreamRejected, "400/0: no reason given"),
    (httpx.Response(400, json={"errors": {"code": 1}}), UpstreamRejected, "400/0: no reason given"),
    (httpx.Response(400, content=b"\xff\xfe"), UpstreamRejected, "400/0: no reason given"),
]


@pytest.mark.parametrize(("reply", "kind", "said"), REFUSALS, ids=lambda value: getattr(value, "status_code", None))
async def test_a_refusal_is_mapped_once_and_not_asked_again(
    api: respx.MockRouter, client: CloudflareClient, reply: httpx.Response, kind: type[MemoryGatewayError], said: str
) -> None:
    route = api.post("/thing").mock(return_value=reply)
    error = await refused(client)
    assert type(error) is kind
    assert said in error.detail
    assert TOKEN not in error.detail
    assert route.call_count == 1


async def test_headers_that_cloudflare_cannot_read_are_no_matter_for_the_product_that_was_called(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    api.post("/thing").mock(return_value=refusal(400, 6003, "Invalid request headers"))
    with pytest.raises(CredentialsRefused, match="400/6003 on thing"):
        await client.call(CALL, lambda refused: UpstreamRejected(f"a product's own: {refused.message}"))


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("body", [refusal(400, 10000, f"wrong token {TOKEN}: a secret memory"), html(403)])
async def test_refused_credentials_name_the_setting_and_show_neither_token_nor_content(
    api: respx.MockRouter, client: CloudflareClient, status: int, body: httpx.Response
) -> None:
    api.post("/thing").mock(return_value=httpx.Response(status, content=body.content))
    with capture_logs() as logs:
        error = await refused(client)
    assert type(error) is CredentialsRefused
    assert error.retry_after is None
    assert "CLOUDFLARE_API_TOKEN" in error.detail
    assert f"{status}/" in error.detail
    assert [entry["event"] for entry in logs] == ["credentials_refused"]
    assert not any(secret in error.detail + repr(error) + str(logs) for secret in SECRETS)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx.ConnectError("refused"), UpstreamUnavailable),
        (httpx.RemoteProtocolError("half a reply"), UpstreamUnavailable),
        (httpx.ReadError("reset"), UpstreamUnavailable),
        (httpx.DecodingError("not gzip"), UpstreamUnavailable),
        (httpx.ConnectTimeout("slow"), UpstreamTimeout),
        (httpx.ReadTimeout("slow"), UpstreamTimeout),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_call_that_got_no_answer_is_mapped_once_and_not_made_again(
    api: respx.MockRouter, client: CloudflareClient, failure: Exception, kind: type[MemoryGatewayError]
) -> None:
    route = api.post("/thing").mock(side_effect=failure)
    error = await refused(client)
    assert type(error) is kind
    assert error.__cause__ is failure
    assert route.call_count == 1


async def hang(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(60)
    return answer()


async def test_a_call_is_given_up_at_its_own_deadline(api: respx.MockRouter, client: CloudflareClient) -> None:
    api.post("/thing").mock(side_effect=hang)
    async with asyncio.timeout(2):
        error = await refused(client, Call("thing.do", "POST", "/thing", seconds=0.02))
    assert type(error) is UpstreamTimeout
    assert "thing.do" in error.detail


OUTCOMES: list[tuple[Any, str]] = [
    (answer(), "ok"),
    (refusal(400), "upstream_rejected"),
    (html(200), "upstream_rejected"),
    (refusal(401), "upstream_credentials_refused"),
    (refusal(429), "rate_limited"),
    (html(502), "upstream_unavailable"),
    (httpx.ReadTimeout("slow"), "upstream_timeout"),
]


@pytest.mark.parametrize(("reply", "outcome"), OUTCOMES, ids=[outcome for _, outcome in OUTCOMES])
@pytest.mark.parametrize("operation", ["thing.do", "thing.undo"])
async def test_a_call_is_counted_by_its_operation_and_outcome(
    api: respx.MockRouter, client: CloudflareClient, metrics: Metrics, reply: Any, outcome: str, operation: str
) -> None:
    api.post("/thing").mock(side_effect=[reply])
    if outcome == "ok":
        await client.call(Call(operation, "POST", "/thing"))
    else:
        assert (await refused(client, Call(operation, "POST", "/thing"))).code == outcome
    assert calls(metrics) == {(operation, outcome): 1}


async def test_a_call_that_its_caller_leaves_is_counted_as_cancelled(
    api: respx.MockRouter, client: CloudflareClient, metrics: Metrics
) -> None:
    api.post("/thing").mock(side_effect=hang)
    task = asyncio.create_task(client.call(CALL))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls(metrics) == {("thing.do", "cancelled"): 1}


async def test_a_call_whose_circuit_is_open_is_not_made_and_spends_nothing(
    api: respx.MockRouter, client: CloudflareClient, metrics: Metrics
) -> None:
    route = api.post("/thing").mock(side_effect=httpx.ReadTimeout("slow"))
    call = replace(CALL, breaker=client.breakers.of("thing"))
    for _ in range(TIME_OUTS):
        assert type(await refused(client, call)) is UpstreamTimeout
    left = samples(metrics, "memory_gateway_cloudflare_calls_left")
    assert type(await refused(client, call)) is CircuitOpen
    assert type(await refused_of(client, call)) is CircuitOpen
    assert route.call_count == TIME_OUTS
    assert samples(metrics, "memory_gateway_cloudflare_calls_left") == left
    assert calls(metrics) == {("thing.do", "upstream_timeout"): TIME_OUTS}


async def refused_of(client: CloudflareClient, call: Call) -> MemoryGatewayError:
    with pytest.raises(MemoryGatewayError) as caught:
        await client.call_compatible(call, lambda _: None)
    return caught.value
