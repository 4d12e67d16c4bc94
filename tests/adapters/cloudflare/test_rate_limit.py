"""Cloudflare's rate limit: a block is waited out by every call, and what Cloudflare tells of it is shown."""

import httpx
import pytest
import respx
from structlog.testing import capture_logs

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.responses import Refusal
from app.adapters.upstream import Call
from app.domain.errors import CloudflareBlocks, MemoryGatewayError, RateLimited, UpstreamOverloaded
from app.observability.metrics import Metrics
from tests.adapters.cloudflare.conftest import LIMIT
from tests.adapters.cloudflare.wire import ACCOUNT_ID, TOKEN, Clock, answer, html, refusal
from tests.observability.samples import calls, samples

CALL = Call("thing.do", "POST", "/thing", b"{}")
OTHER = Call("other.do", "GET", "/other")
BLOCKED = "More than 1200 requests per 300 seconds reached."


async def limited(client: CloudflareClient, call: Call = CALL) -> RateLimited:
    with pytest.raises(RateLimited) as caught:
        await client.call(call)
    return caught.value


def left(metrics: Metrics) -> float:
    return samples(metrics, "memory_gateway_cloudflare_calls_left")[()]


def told(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """What was told of the limit, by figure and policy."""
    return samples(metrics, "memory_gateway_cloudflare_ratelimit")


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (refusal(429, 971, BLOCKED, retry_after="120"), 120),
        (refusal(429, 971, BLOCKED), 300),
        (refusal(429, 971, "Slower, please"), 300),
        (refusal(429, 1, BLOCKED), 300),
        (refusal(429, 1, "Please wait and consider throttling your request speed"), 300),
        (refusal(429, 1, "Cloudflare API: rate limited"), 300),
        (refusal(429, retry_after="0"), 1),
        (refusal(429, retry_after="86400"), 300),
        (refusal(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), 300),
        (refusal(429, retry_after="-5"), 300),
        (refusal(429, retry_after="1.5"), 300),
        (refusal(429, retry_after=""), 300),
    ],
    ids=[
        *("told", "untold", "by its code", "by its message", "by advice", "by its name", "no time", "a day"),
        *("a date", "negative", "a fraction", "empty"),
    ],
)
async def test_a_block_is_passed_on_and_no_call_is_sent_until_it_is_over(
    api: respx.MockRouter, client: CloudflareClient, clock: Clock, reply: httpx.Response, seconds: int
) -> None:
    route = api.post("/thing").mock(side_effect=[reply, answer()])
    other = api.get("/other").mock(return_value=answer())
    assert (await limited(client)).retry_after == seconds
    for call in (CALL, OTHER):
        assert (await limited(client, call)).retry_after == seconds
    clock.now += seconds - 0.5
    assert (await limited(client, OTHER)).retry_after == 1
    assert (route.call_count, other.call_count) == (1, 0)
    clock.now += 0.5
    await client.call(OTHER)
    await client.call(CALL)
    assert (route.call_count, other.call_count) == (2, 1)


async def test_a_block_is_an_outage_and_no_refusal_of_the_caller(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    api.post("/thing").mock(return_value=refusal(429, 971, BLOCKED, retry_after="120"))
    for _ in range(2):
        error = await limited(client)
        assert (type(error), error.status, error.retry_after) == (CloudflareBlocks, 503, 120)


async def test_what_an_answer_says_is_left_bounds_the_next_calls(
    api: respx.MockRouter, client: CloudflareClient, clock: Clock
) -> None:
    reply = answer()
    reply.headers["Ratelimit"] = '"default";r=1;t=40'
    api.post("/thing").mock(return_value=reply)
    api.get("/other").mock(return_value=answer())
    await client.call(CALL)
    await client.call(OTHER)
    assert (await limited(client, OTHER)).retry_after == 40
    clock.now += 40
    await client.call(OTHER)


async def test_calls_that_ask_for_a_share_are_made_beyond_it_and_counted(api: respx.MockRouter, clock: Clock) -> None:
    route = api.post("/thing").mock(return_value=answer())
    metrics = Metrics()
    call_budget = CallBudget(1, clock=clock)
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=call_budget, metrics=metrics)
    for _ in range(2):
        await client.call(CALL, for_share=True)
    await limited(client)
    assert route.call_count == 2
    await client.close()


async def test_a_block_is_told_to_the_operator(api: respx.MockRouter, client: CloudflareClient) -> None:
    api.post("/thing").mock(return_value=refusal(429, retry_after="7"))
    with capture_logs() as logs:
        await limited(client)
    assert logs == [{"event": "cloudflare_blocks", "seconds": 7, "log_level": "error"}]


async def test_a_429_that_a_product_means_otherwise_blocks_nothing(
    api: respx.MockRouter, client: CloudflareClient
) -> None:
    def meaning(refused: Refusal) -> MemoryGatewayError | None:
        return UpstreamOverloaded(refused.message) if refused.code == 3040 else None

    route = api.post("/thing").mock(side_effect=[refusal(429, 3040, "full", retry_after="60"), answer()])
    with pytest.raises(UpstreamOverloaded, match="full"):
        await client.call(CALL, meaning)
    await client.call(CALL, meaning)
    assert route.call_count == 2


@pytest.mark.parametrize(
    "reply",
    [html(429), refusal(429, 9999, "Rate limited by this model"), refusal(429, 3040, "full")],
    ids=["html", "a product's own", "a full machine"],
)
async def test_a_limit_of_what_was_called_stops_no_other_call(
    api: respx.MockRouter, client: CloudflareClient, reply: httpx.Response
) -> None:
    api.post("/thing").mock(side_effect=[reply, answer()])
    api.get("/other").mock(return_value=answer())
    error = await limited(client)
    assert error.retry_after is not None
    assert 1 <= error.retry_after <= 60
    assert "thing.do" in error.detail
    await client.call(OTHER)
    await client.call(CALL)


async def test_a_share_that_is_used_up_sends_nothing_and_says_when_it_will(api: respx.MockRouter, clock: Clock) -> None:
    route = api.post("/thing").mock(return_value=answer())
    metrics = Metrics()
    call_budget = CallBudget(2, clock=clock)
    client = CloudflareClient(account_id=ACCOUNT_ID, api_token=TOKEN, call_budget=call_budget, metrics=metrics)
    await client.call(CALL)
    clock.now += 100
    await client.call(CALL)
    assert (await limited(client)).retry_after == 200
    assert (route.call_count, left(metrics)) == (2, 0)
    assert calls(metrics) == {("thing.do", "ok"): 2, ("thing.do", "rate_limited"): 1}
    clock.now += 200
    await client.call(CALL)
    assert route.call_count == 3
    await client.close()


async def test_the_calls_left_are_shown(
    api: respx.MockRouter, client: CloudflareClient, clock: Clock, metrics: Metrics
) -> None:
    assert left(metrics) == LIMIT
    api.post("/thing").mock(side_effect=[answer(), html(500), refusal(429, retry_after="60")])
    await client.call(CALL)
    with pytest.raises(MemoryGatewayError):
        await client.call(CALL)
    assert left(metrics) == LIMIT - 2  # a failed call counts: Cloudflare has seen it
    await limited(client)
    assert left(metrics) == 0
    clock.now += 60
    assert left(metrics) == LIMIT - 3
    clock.now += 300
    assert left(metrics) == LIMIT


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        (
            {"Ratelimit": '"default";r=50;t=30', "Ratelimit-Policy": '"burst";q=100;w=60'},
            {
                ("remaining", "default"): 50,
                ("reset_seconds", "default"): 30,
                ("quota", "burst"): 100,
                ("window_seconds", "burst"): 60,
            },
        ),
        (
            {"RateLimit": '"a";r=500;t=1, "b"; r=400 ; t=2'},
            {
                ("remaining", "a"): 500,
                ("reset_seconds", "a"): 1,
                ("remaining", "b"): 400,
                ("reset_seconds", "b"): 2,
            },
        ),
        ({"Ratelimit": '"default";r=500;x=9'}, {("remaining", "default"): 500}),
    ],
)
async def test_what_cloudflare_tells_of_its_limit_is_shown(
    api: respx.MockRouter,
    client: CloudflareClient,
    metrics: Metrics,
    headers: dict[str, str],
    shown: dict[tuple[str, ...], float],
) -> None:
    reply = answer()
    reply.headers.update(headers)
    api.post("/thing").mock(return_value=reply)
    await client.call(CALL)
    assert told(metrics) == shown


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_a_refusal_tells_of_the_limit_as_well(
    api: respx.MockRouter, client: CloudflareClient, metrics: Metrics, status: int
) -> None:
    api.post("/thing").mock(return_value=refusal(status, ratelimit='"default";r=900;t=30'))
    with pytest.raises(MemoryGatewayError):
        await client.call(CALL)
    assert told(metrics)["remaining", "default"] == 900


@pytest.mark.parametrize(
    "header", [b"", b"50", b"default;r=50;t=30", b'"default"', b'"default";r=;t=x', b'"default";r=-1', b'";;;', b"\xff"]
)
async def test_a_limit_that_is_absent_or_malformed_harms_nothing(
    api: respx.MockRouter, client: CloudflareClient, metrics: Metrics, header: bytes
) -> None:
    headers = {b"Ratelimit": header, b"Ratelimit-Policy": b'"q'}
    api.post("/thing").mock(return_value=httpx.Response(200, json={"success": True}, headers=headers))
    api.get("/other").mock(return_value=answer())
    await client.call(CALL)
    await client.call(OTHER)
    assert told(metrics) == {}


@pytest.mark.parametrize("digits", [400, 5000])
async def test_a_figure_beyond_all_reason_harms_nothing(
    api: respx.MockRouter, client: CloudflareClient, digits: int
) -> None:
    reply = answer()
    reply.headers["Ratelimit"] = f'"default";r={"9" * digits}'
    api.post("/thing").mock(return_value=reply)
    await client.call(CALL)


@pytest.mark.parametrize("digits", [400, 5000])
async def test_a_retry_after_beyond_all_reason_is_still_a_block(
    api: respx.MockRouter, client: CloudflareClient, digits: int
) -> None:
    api.post("/thing").mock(return_value=refusal(429, retry_after="9" * digits))
    await limited(client)
    await limited(client, OTHER)


@pytest.mark.parametrize(("remaining", "warned"), [(100, False), (99, True), (0, True)])
async def test_few_calls_left_are_told_to_the_operator(
    api: respx.MockRouter, client: CloudflareClient, remaining: int, *, warned: bool
) -> None:
    reply = answer()
    reply.headers["Ratelimit"] = f'"default";r={remaining};t=30'
    api.post("/thing").mock(return_value=reply)
    with capture_logs() as logs:
        await client.call(CALL)
    assert ([entry["event"] for entry in logs] == ["cloudflare_ratelimit_low"]) is warned
