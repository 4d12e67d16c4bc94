"""The PromQL of the documentation asks for metrics and labels that there are."""

import re

import pytest

from app.domain.audit import RecallNote, ToolCall
from app.domain.request_note import RequestNote
from app.observability.audit_metrics import AuditMetrics
from app.observability.metrics import Metrics
from tests.deploy.dockerfile import ROOT

OPERATIONS = ROOT / "docs" / "operations.md"
QUERIES = [
    line
    for block in re.findall(r"^```promql\n(.*?)^```", OPERATIONS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for line in re.sub(r"\n +", " ", block).splitlines()
]


@pytest.fixture(scope="module")
def shown() -> dict[str, set[str]]:
    """Every metric of a process that has counted each thing once, with its labels and their values."""
    metrics = Metrics()
    counts = AuditMetrics(metrics.registry, tenants=True)
    metrics.request("POST", "/recall", 200, 0.1)
    counts.request(RequestNote("acme", tool="recall_memory", code="quota_exceeded"), 0.1)
    counts.embedded("acme", 3, 1)
    counts.model_tokens("acme", 5)
    counts.recall(RecallNote("acme", "bot", "http"))
    counts.tool_call("acme", ToolCall("id", "look", None, "0" * 64, "error", "1", tokens=3))
    found: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(*sample.labels.items())
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_a_metric_that_there_is_and_its_labels(query: str, shown: dict[str, set[str]]) -> None:
    names = re.findall(r"\bmemory_gateway_\w+", query)
    assert names
    asked = {label for labels in re.findall(r"by \(([^)]*)\)", query) for label in labels.split(", ")}
    asked.update(re.findall(r"(\w+)=~?\"", query), re.findall(r"kind=\"(\w+)\"", query))
    for name in names:
        assert asked <= shown[name]


def test_every_question_has_queries() -> None:
    assert len(QUERIES) == 9
