"""What Prometheus is shown."""

import math
import shutil
from pathlib import Path

import pytest

from app.bootstrap.observing import show_disk
from app.observability.metrics import MEDIA_TYPE, Metrics
from tests.observability.samples import calls, samples


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def test_nothing_is_shown_before_anything_happened(metrics: Metrics) -> None:
    assert b"operation=" not in metrics.render()


def test_calls_are_counted_by_operation_and_outcome_with_their_duration(metrics: Metrics) -> None:
    metrics.upstream.call("d1.query", "ok", 0.5)
    metrics.upstream.call("d1.query", "ok", 0.25)
    metrics.upstream.call("d1.query", "rate_limited", 0.0)
    assert calls(metrics) == {("d1.query", "ok"): 2, ("d1.query", "rate_limited"): 1}
    assert samples(metrics, "memory_gateway_upstream_seconds_sum")["d1.query",] == 0.75


def test_a_bucket_counts_the_calls_up_to_its_bound(metrics: Metrics) -> None:
    for seconds in (0.004, 0.3, 12.0, 99.0):
        metrics.upstream.call("d1.query", "ok", seconds)
    buckets = samples(metrics, "memory_gateway_upstream_seconds_bucket")
    counted = {float(le): count for (le, _), count in buckets.items()}
    assert counted[0.025] == 1
    assert counted[0.5] == 2
    assert counted[10.0] == 2
    assert counted[math.inf] == 4


def test_calls_of_the_embedder_below_100_ms_up_to_500_and_above_are_told_apart(metrics: Metrics) -> None:
    for seconds in (0.09, 0.2, 0.3, 0.6):
        metrics.upstream.call("openai.embeddings", "ok", seconds)
    buckets = samples(metrics, "memory_gateway_upstream_seconds_bucket")
    counted = {float(le): count for (le, _), count in buckets.items()}
    assert (counted[0.1], counted[0.25], counted[0.5]) == (1, 2, 3)


def test_retries_and_tokens_are_counted(metrics: Metrics) -> None:
    metrics.upstream.retry("d1.query")
    metrics.upstream.retry("d1.query")
    metrics.upstream.tokens("a-model", 7)
    metrics.upstream.tokens("a-model", 8)
    assert samples(metrics, "memory_gateway_upstream_retries_total") == {("d1.query",): 2}
    assert samples(metrics, "memory_gateway_embedding_tokens_sum") == {("a-model",): 15}
    assert samples(metrics, "memory_gateway_embedding_tokens_count") == {("a-model",): 2}


def test_of_the_rate_limit_the_last_word_is_shown(metrics: Metrics) -> None:
    metrics.upstream.ratelimit("default", "remaining", 50)
    metrics.upstream.ratelimit("default", "remaining", 49)
    assert samples(metrics, "memory_gateway_cloudflare_ratelimit") == {("remaining", "default"): 49}


def test_the_calls_left_are_asked_for_when_they_are_shown(metrics: Metrics) -> None:
    left = [10.0]
    metrics.budgets.cloudflare(lambda: left[0])
    assert samples(metrics, "memory_gateway_cloudflare_calls_left") == {(): 10}
    left[0] = math.inf
    assert samples(metrics, "memory_gateway_cloudflare_calls_left") == {(): math.inf}


def test_two_processes_in_one_test_do_not_share_counters() -> None:
    one, other = Metrics(), Metrics()
    one.upstream.retry("d1.query")
    assert samples(other, "memory_gateway_upstream_retries_total") == {}


def test_the_media_type_is_prometheus_text(metrics: Metrics) -> None:
    assert MEDIA_TYPE.startswith("text/plain")
    assert metrics.render().endswith(b"\n")


def test_a_disk_that_does_not_tell_its_room_leaves_the_other_metrics_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = Metrics()
    show_disk(metrics, tmp_path)
    assert b"memory_gateway_disk_free_bytes NaN" not in metrics.render()

    def gone(_: Path) -> None:
        raise OSError("stale file handle")

    monkeypatch.setattr(shutil, "disk_usage", gone)
    assert b"memory_gateway_disk_free_bytes NaN" in metrics.render()
