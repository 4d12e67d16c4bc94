"""However much a service has seen, what it shows to Prometheus stays small."""

from http import HTTPStatus
from pathlib import Path

import pytest
from starlette.routing import Route

from app.domain.audit import RecallNote, ToolCall
from app.domain.request_note import RequestNote
from app.observability.audit_metrics import AuditMetrics
from app.observability.metrics import Metrics
from tests.support.service import Service, serving

UPSTREAM = (
    *("d1.query", "d1.recall_fused", "vectorize.query", "vectorize.upsert", "vectorize.delete", "vectorize.info"),
    *("openai.embeddings", "openai.chat", "http.rerank", "objects.get", "objects.put", "objects.delete"),
)
STAGES = ("extract", "detail", "verify", "classify", "analyse", "synthesise")


def seen(service: Service, *, tenants: bool) -> tuple[Metrics, AuditMetrics]:
    """Return the metrics of a service that has seen every route with every status, of a thousand tenants."""
    metrics = Metrics()
    counts = AuditMetrics(metrics.registry, tenants=tenants)
    routes = [
        (method, route.path)
        for route in service.app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
    ]
    assert len(routes) > 100
    for method, route in [*routes, ("other", ""), ("GET", "")]:
        for status in (0, *(status.value for status in HTTPStatus)):
            metrics.request(method, route, status, 0.1)
    for number in range(1_000):
        for code in ("invalid_request", "quota_exceeded", "unavailable"):
            counts.request(RequestNote(f"tenant-{number}", code=code, quotas_near=["memories"]), 0.1)
        counts.recall(RecallNote(f"tenant-{number}", "bot", "http"))
        counts.embedded(f"tenant-{number}", 3, 1)
        counts.model_tokens(f"tenant-{number}", 5)
    for operation in UPSTREAM:
        for outcome in ("ok", "upstream_timeout", "upstream_unavailable", "rate_limited", "circuit_open", "cancelled"):
            metrics.upstream.call(operation, outcome, 0.1)
        metrics.upstream.circuit(operation, "open", opened=True)
    return metrics, counts


@pytest.fixture
async def served(tmp_path: Path) -> Service:
    async with serving(tmp_path) as service:
        return service


async def test_every_route_with_every_outcome_of_a_thousand_tenants_is_less_than_60_kb(served: Service) -> None:
    metrics, _ = seen(served, tenants=False)
    assert len(metrics.render()) < 60_000


async def test_tenants_that_are_named_and_names_that_callers_choose_add_no_series_beyond_their_bounds(
    served: Service,
) -> None:
    metrics, counts = seen(served, tenants=True)
    for number in range(500):
        counts.tool_call(
            f"tenant-{number}", ToolCall(str(number), f"tool {number}", None, "0" * 64, "error", "1", tokens=3)
        )
        counts.request(RequestNote(f"tenant-{number}", tool="recall_memory", code=f"code-{number}"), 0.1)
        metrics.upstream.call("d1.query", f"code-{number}", 0.1)
        for stage in STAGES:
            metrics.models.call(stage, "a-model", f"code-{number}", 0.1, 3)
    once = len(metrics.render())
    assert once < 200_000
    for number in range(500, 600):
        counts.tool_call("new", ToolCall(str(number), f"tool {number}", None, "0" * 64, "error", "1", tokens=3))
        counts.request(RequestNote(f"new-{number}", tool="recall_memory", code=f"code-{number}"), 0.1)
        metrics.upstream.call("d1.query", f"code-{number}", 0.1)
        metrics.models.call("extract", "a-model", f"code-{number}", 0.1, 3)
    assert len(metrics.render()) < once + 500, "only figures have grown"
