"""How long requests have taken, as the histogram of requests tells it."""

from math import inf

import pytest

from app.observability.metrics import Metrics


def test_half_of_the_requests_and_95_of_100_took_no_longer_than_is_told() -> None:
    metrics = Metrics()
    for seconds in [0.004] * 60 + [0.2] * 36 + [3.0] * 4:
        metrics.request("POST", "/recall", 200, seconds)
    metrics.request("POST", "/store", 500, 60.0)
    metrics.request("GET", "", 404, 1.0)
    recall, _, store = metrics.latencies()
    assert (recall.kind, recall.requests) == ("recall", 100)
    assert (recall.median, recall.slow) == (0.005, 0.25)
    assert (store.kind, store.requests, store.median) == ("store", 1, inf)


def test_the_requests_of_a_kind_count_together_whatever_their_outcome() -> None:
    metrics = Metrics()
    for status in (200, 403, 500):
        metrics.request("POST", "/store", status, 0.02)
    (store,) = metrics.latencies()
    assert store.requests == 3
    assert store.slow == pytest.approx(0.025)
