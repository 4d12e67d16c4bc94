"""The meter of an embeddings API: it refuses before the API does, and warns before it refuses."""

import math

import httpx
import pytest
import respx
from structlog.testing import capture_logs

from app.adapters.openai.call_meter import CallMeter
from app.adapters.openai.embedder import BASE_URL, OpenAIEmbedder
from app.domain.errors import RateLimited, UpstreamUnavailable
from app.observability.metrics import Metrics
from tests.adapters.cloudflare.wire import Clock
from tests.observability.samples import samples


def test_a_minute_has_so_many_calls_and_the_wait_is_true() -> None:
    clock = Clock()
    meter = CallMeter(3, clock)
    for _ in range(3):
        meter.take()
        clock.now += 10
    with pytest.raises(RateLimited) as caught:
        meter.take()
    assert (caught.value.retry_after, meter.left()) == (30, 0)
    clock.now += 30
    meter.take()


def test_the_operator_is_warned_at_four_fifths_once_a_minute() -> None:
    clock = Clock()
    meter = CallMeter(10, clock)
    with capture_logs() as logs:
        for _ in range(7):
            meter.take()
        assert logs == []
        for _ in range(3):
            meter.take()
    assert [(entry["event"], entry["calls"]) for entry in logs] == [("embedding_calls_low", 8)]


def test_without_a_limit_nothing_is_counted() -> None:
    meter = CallMeter(None)
    for _ in range(5_000):
        meter.take()
    assert meter.left() == math.inf


@respx.mock
async def test_the_calls_left_are_shown_and_past_them_the_api_is_not_asked() -> None:
    metrics = Metrics()
    embedder = OpenAIEmbedder(api_key="key", metrics=metrics, calls_per_minute=2)
    route = respx.post(f"{BASE_URL}/embeddings").mock(return_value=httpx.Response(500))
    for error in (UpstreamUnavailable, UpstreamUnavailable, RateLimited):
        with pytest.raises(error):
            await embedder.embed(["a text"], "query")
    assert route.call_count == 2
    assert samples(metrics, "memory_gateway_embedding_calls_left") == {(): 0.0}
    await embedder.close()
