"""``deploy/README.md``: its commands, settings, metrics and error codes are those of the service."""

import re
from collections.abc import Iterator

import pytest

from app.domain.audit import RecallNote, ToolCall
from app.domain.errors import DatabaseRejected, MemoryGatewayError, SchemaTooNew, Unavailable
from app.observability.audit_metrics import AuditMetrics
from app.observability.metrics import Metrics
from app.observability.trace_export import span_counter
from app.settings import Settings
from tests.deploy.commands import SETTINGS, invocations, refusal, shell_lines
from tests.deploy.dockerfile import ROOT

_README = (ROOT / "deploy" / "README.md").read_text(encoding="utf-8")
_COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
_CODE_ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \|", re.MULTILINE)
_NOT_OURS = {"TOKEN", "COMPOSE_PROFILES", "CLOUDFLARE_PORT", "REHEARSAL_PORT"}
_OUTAGES: list[type[MemoryGatewayError]] = [Unavailable, SchemaTooNew, DatabaseRejected]


def _tree(root: type[MemoryGatewayError]) -> Iterator[type[MemoryGatewayError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


@pytest.mark.parametrize(
    ("document", "some"),
    [
        ("README.md", {"serve", "doctor", "deploy"}),
        ("deploy/README.md", {"serve", "doctor", "provision"}),
        ("deploy/edge/README.md", {"doctor", "shard"}),
        ("docs/operations.md", {"shard"}),
    ],
)
def test_every_command_of_a_document_is_one_that_runs(document: str, some: set[str]) -> None:
    lines = shell_lines((ROOT / document).read_text(encoding="utf-8"))
    told = list(invocations(lines))
    assert some <= {words[0] for words in told}
    assert [(words, why) for words in told if (why := refusal(words))] == []


@pytest.mark.parametrize("document", ["README.md", "deploy/README.md"])
def test_a_credential_is_minted_for_the_agent_that_the_examples_use(document: str) -> None:
    of_all_projects = "memory_hook.py setup"  # each project of Claude Code has an agent of its own
    lines = [line for line in shell_lines((ROOT / document).read_text("utf-8")) if of_all_projects not in line]
    minted = [words for words in invocations(lines) if words[0] == "token" and "--tenant" not in words]
    assert minted
    assert [words for words in minted if words != ["token", "--agent", "default"]] == []


def test_a_command_of_the_readme_is_the_one_that_make_installs_or_of_a_container() -> None:
    lines = shell_lines((ROOT / "README.md").read_text(encoding="utf-8"))
    called = [line for line in lines if re.search(r"\bmemory-gateway [a-z]", line)]
    assert called
    own = re.compile(r"\.venv/bin/memory-gateway |^docker compose exec gateway memory-gateway ")
    assert [line for line in called if not own.search(line)] == []


def test_a_command_that_is_not_there_or_is_wrongly_put_would_be_noticed() -> None:
    told = invocations(["x=$(memory-gateway tokn --tenant a)", ".venv/bin/memory-gateway token --tenat a # as before"])
    assert [refusal(words) is None for words in told] == [False, False]


def test_every_variable_of_the_readme_is_a_setting() -> None:
    set_in_shell = set(re.findall(r"\b([A-Z][A-Z0-9_]+)=", "\n".join(shell_lines(_README))))
    named = set(re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[`=]", _README))
    assert named
    assert (set_in_shell | named) - _NOT_OURS <= SETTINGS


def test_every_outage_is_in_the_table_with_its_status() -> None:
    outages = {error.code: error.status for root in _OUTAGES for error in _tree(root)}
    assert {code: int(status) for code, status in _CODE_ROW.findall(_README)} == outages


def test_every_metric_the_readme_names_is_one_of_the_service() -> None:
    metrics = Metrics()
    metrics.budgets.cloudflare(lambda: 1000)
    metrics.budgets.embedding(lambda: 1000)
    metrics.upstream.call("d1.query", "ok", 0.1)
    metrics.upstream.retry("d1.query")
    metrics.upstream.tokens("model", 8)
    metrics.upstream.ratelimit("default", "remaining", 1)
    audited = AuditMetrics(metrics.registry, tenants=True)
    audited.recall(RecallNote("acme", "bot", "http", None, None, channels=("vector",)))
    audited.tool_call("acme", ToolCall("01K2Z4M1V7Q8T3B5N6C7D8E9FA", "search", None, "", "error", "1.5", tokens=1))
    metrics.budgets.disk(lambda: 1)
    span_counter(metrics.registry)
    shown = metrics.render().decode()
    named = re.findall(r"`(memory_gateway_\w+)`", _README)
    assert named
    assert [name for name in named if name not in shown] == []


def test_the_figures_of_the_rate_limit_are_those_of_the_settings() -> None:
    share = Settings.model_fields["cloudflare_calls_per_window"].default
    assert f"`CLOUDFLARE_CALLS_PER_WINDOW`, {share:,} by default" in _README


def test_every_service_and_profile_of_the_readme_is_in_the_compose_file() -> None:
    lines = "\n".join(shell_lines(_README))
    services = set(re.findall(r"docker compose (?:exec (?:-T )?|logs --follow )(\S+)", lines))
    assert services == {"gateway", "gateway-cloudflare", "gateway-rehearsal", "provision"}
    assert all(f"\n  {service}:" in _COMPOSE for service in services)
    named = set(re.findall(r"(?:COMPOSE_PROFILES=|--profile )(\S+)", lines))
    assert named == set(re.findall(r"profiles: \[([\w-]+)\]", _COMPOSE))


def test_the_walk_through_uses_the_account_that_the_compose_file_uses() -> None:
    for setting in ("CLOUDFLARE_API_TOKEN", "OPENAI_API_KEY", "CLOUDFLARE_ACCOUNT_ID"):
        match = re.search(rf'{setting}: "?([\w-]+)"?', _COMPOSE)
        assert match is not None
        assert f"{setting}={match[1]}" in _README


def test_every_link_within_the_readme_has_its_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", _README, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([\w-]+)\)", _README)) <= anchors
