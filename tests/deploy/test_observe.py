"""``deploy/observe``: every query of the dashboard and of the alerts asks for what a running service shows."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.domain import errors
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import MemoryGatewayError
from app.observability.metrics import Metrics
from tests.deploy.dockerfile import ROOT
from tests.support.backends import running_on
from tests.support.collector import collecting, wait_for_exports
from tests.support.service import Service, serving

OBSERVE = ROOT / "deploy" / "observe"
DASHBOARD = json.loads((OBSERVE / "grafana" / "dashboards" / "memory-gateway.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
(GROUP,) = yaml.safe_load((OBSERVE / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
RULES: list[dict[str, Any]] = GROUP["rules"]
COMPOSE = yaml.safe_load((OBSERVE / "compose.yaml").read_text(encoding="utf-8"))
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
QUERIES = {
    **{f"{panel['title']} {n}": t["expr"] for panel in PANELS for n, t in enumerate(panel["targets"])},
    **{rule["alert"]: rule["expr"] for rule in RULES},
}
OF_PROMETHEUS = {"up": {"job", "instance"}}
"""Metrics and labels that Prometheus adds itself."""
TARGET = {"job", "instance"}


def parsed(expression: str) -> Any:
    return promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def parts(expression: Any) -> Iterator[Any]:
    yield expression
    for name in ("lhs", "rhs", "expr", "vector_selector"):
        if (inner := getattr(expression, name, None)) is not None:
            yield from parts(inner)
    for inner in getattr(expression, "args", None) or ():
        yield from parts(inner)


async def used(service: Service) -> str:
    """Do a bit of everything, and return what the service shows."""
    await service.store("Ann drinks tea", tenant="acme")
    await service.recall("What does Ann drink?")
    await service.call("recall_memory", {"query": "tea"})
    await service.post("/recall", {"agent_id": "bot"})
    await service.post("/profiles/bot/recall", {"query": "What does Ann drink?"})
    await service.runtime.indexer.round()
    await service.shards.fullness.measure()
    return (await service.client.get("/metrics")).text


def shown_of(texts: list[str]) -> dict[str, dict[str, set[str]]]:
    """Return the labels of each series, with the values that were seen."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for text in texts:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = found[sample.name]
                for name, value in sample.labels.items():
                    labels[name].add(value)
    return found


def told_directly() -> str:
    """Return what a process shows of what no test can bring about at will."""
    metrics = Metrics()
    metrics.budgets.embedding(lambda: 1)
    metrics.sensitive_content("key", "count", 1)
    metrics.upstream.circuit("d1", "open", opened=True)
    return metrics.render().decode()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, set[str]]]:
    """What services show: one on the double, with a language model, one embedded."""
    texts = asyncio.run(shown_by_services(tmp_path_factory.mktemp("double"), tmp_path_factory.mktemp("embedded")))
    wait_for_exports()  # one that goes on, and draws when to try again, would disturb what others draw
    return shown_of([told_directly(), *texts])


async def shown_by_services(folder: Path, embedded: Path) -> list[str]:
    with running_on("cloudflare") as account, collecting() as collector:
        observed: dict[str, Any] = {"otel_exporter_otlp_endpoint": collector.url, "metrics_tenants": True}
        config = EmbeddingConfig("openai", "text-embedding-3-small", 1536)
        account.settings(folder)
        account.doubles[folder].double.create_index(config.index_name, config.dimensions, SCOPE_TYPES)
        observed |= {"embedder": "openai"}
        model: dict[str, Any] = {"language_model": "openai", "language_model_name": "gpt-4o-mini"}
        async with serving(folder, on=account, **observed, **model) as service:
            on_double = await used(service)
    async with serving(embedded, tenant_memories=5, metrics_tenants=True) as service:
        for number in range(5):
            await service.store(f"tea {number}")
        await service.post("/store", {"agent_id": "bot", "content": "one too many"})
        return [on_double, (await service.client.get("/metrics")).text]


@pytest.mark.cloudflare
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_is_promql_and_names_what_a_running_service_shows(
    query: str, shown: dict[str, dict[str, set[str]]]
) -> None:
    every = list(parts(parsed(query)))
    selectors = [each for each in every if isinstance(each, promql_parser.VectorSelector)]
    assert selectors
    labels: set[str] = set()
    for selector in selectors:
        if selector.name in OF_PROMETHEUS:
            assert {matcher.name for matcher in selector.matchers.matchers} <= OF_PROMETHEUS[selector.name]
            continue
        assert selector.name in shown, selector.name
        labels |= set(shown[selector.name])
        for matcher in selector.matchers.matchers:
            assert matcher.name in shown[selector.name]
            _check_values(matcher.name, matcher.value, shown[selector.name][matcher.name])
    for each in every:
        modifier = getattr(each, "modifier", None)
        if isinstance(each, promql_parser.AggregateExpr) and modifier is not None:
            assert set(modifier.labels) <= labels | TARGET


def _check_values(label: str, value: str, seen: set[str]) -> None:
    """Check that a label may have each value that is asked for: it was seen, or is the code of an error."""
    codes = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, MemoryGatewayError)
    }
    allowed = seen | (codes if label in {"code", "outcome"} else set()) | {"failed", "lost"}
    for each in value.split("|"):
        assert each in allowed, (label, each)


def test_each_alert_has_a_severity_a_summary_and_a_line_of_what_to_do() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"].endswith(".")
        assert f"| `{rule['alert']}` |" in OPERATIONS
    named = re.findall(r"^\| `([A-Z]\w+)` \|", OPERATIONS.partition("## Alerts")[2].partition("\n## ")[0], re.MULTILINE)
    assert sorted(named) == sorted(rule["alert"] for rule in RULES)


def test_the_labels_that_a_summary_names_are_those_of_its_query() -> None:
    for rule in RULES:
        for label in re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]):
            assert label in TARGET or f"by ({label}" in rule["expr"] or f", {label})" in rule["expr"], rule["alert"]


def test_the_dashboard_s_panels_have_ids_of_their_own_lie_apart_and_ask_a_datasource_there_is() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    cells = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    provisioned = yaml.safe_load((OBSERVE / "grafana/provisioning/datasources/datasources.yaml").read_text("utf-8"))
    uids = {each["uid"] for each in provisioned["datasources"]}
    assert {t["datasource"]["uid"] for panel in PANELS for t in panel["targets"]} <= uids


def test_every_file_that_is_mounted_is_there_and_every_address_is_a_service_s() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (OBSERVE / source).exists(), source
            assert source in COMPOSE["volumes"] or volume.endswith(":ro")
    for file in OBSERVE.rglob("datasources.yaml"):
        for each in yaml.safe_load(file.read_text("utf-8"))["datasources"]:
            assert re.fullmatch(r"http://(\w+):\d+", each["url"])
            assert each["url"].split("/")[2].split(":")[0] in services
    assert "  - deploy/observe/compose.yaml" in (ROOT / "compose.yaml").read_text("utf-8")


def test_what_watches_starts_only_when_it_is_asked_for_is_pinned_and_is_reached_from_this_machine_alone() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["profiles"] == ["observe"], name
        assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", service["image"])
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert "ports" not in COMPOSE["services"]["tempo"], "it takes spans from anyone who reaches it"


def test_no_password_is_left_as_it_was_made() -> None:
    grafana, prometheus = COMPOSE["services"]["grafana"], COMPOSE["services"]["prometheus"]
    assert "$${GRAFANA_PASSWORD:?" in grafana["entrypoint"][-1]
    assert "$${METRICS_TOKEN:?" in prometheus["entrypoint"][-1]
    assert grafana["environment"]["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    for service in (grafana, prometheus):
        secret = {name: value for name, value in service["environment"].items() if re.search("PASSWORD|TOKEN", name)}
        assert list(secret.values()) == [None], "it is the shell's, or .env's"


def test_prometheus_sends_the_token_that_it_was_given() -> None:
    scraping = yaml.safe_load((OBSERVE / "prometheus.yaml").read_text("utf-8"))
    (job,) = scraping["scrape_configs"]
    assert job["job_name"] == "memory-gateway"
    assert f"> {job['authorization']['credentials_file']} " in COMPOSE["services"]["prometheus"]["entrypoint"][-1]
    (names,) = job["dns_sd_configs"]
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert set(names["names"]) == {name for name in services if name.startswith("gateway")}
    assert Path(OBSERVE / scraping["rule_files"][0]).exists()
