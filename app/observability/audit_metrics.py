"""Counts tool calls, recalls, and the costs and errors of each tenant, for Prometheus."""

import json
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram

from app.domain.audit import RecallNote, ToolCall
from app.domain.request_note import RequestNote
from app.observability.names import Names
from app.observability.tenant_metrics import TenantMetrics

MOST_TOOLS = 20
"""How many names of tools are told apart; all others count as ``other``."""
_MOST_PAIRS = 100
"""Pairs of a tool with an outcome that are told apart."""
_MOST_CODES = 100

_SECONDS = (0.1, 0.5, 2.5, 10.0, 60.0)


class AuditMetrics:
    """The metrics of tool calls, recalls and costs in one process. Implements ``AuditCounts``."""

    def __init__(self, registry: CollectorRegistry, *, tenants: bool = False) -> None:
        """Create the metrics; ``tenants``: count the costs and the errors of each tenant too, by its name."""
        self._tools = Names(MOST_TOOLS)
        self._seconds = Histogram(
            "memory_gateway_tool_seconds",
            "Duration of the tool calls of runs, as their callers report it, by tool (the first 20, then other).",
            ["tool"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._messages = Histogram(
            "memory_gateway_mcp_tool_seconds",
            "Duration of calls of the service's own tools over MCP, by tool.",
            ["tool"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._message_outcomes = Counter(
            "memory_gateway_mcp_tool_calls",
            "Calls of the service's own tools over MCP, by tool and outcome (ok, degraded, gone (nobody waited for the "
            "answer), or the error's code; other beyond 100 pairs).",
            ["tool", "outcome"],
            registry=registry,
        )
        self._message_names = Names(_MOST_PAIRS)
        self._problems = Counter(
            "memory_gateway_problems",
            "Requests that were answered with an error, by its code (the first 100, then other).",
            ["code"],
            registry=registry,
        )
        self._codes = Names(_MOST_CODES)
        self._quotas_near = Counter(
            "memory_gateway_quota_near",
            "Requests that left little of a quota, by its name.",
            ["quota"],
            registry=registry,
        )
        self._errors = Counter(
            "memory_gateway_tool_errors", "Tool calls of runs that ended in an error.", ["tool"], registry=registry
        )
        self._tokens = Counter(
            "memory_gateway_tool_tokens",
            "Tokens of the tool calls of runs, as their callers report them.",
            ["tool"],
            registry=registry,
        )
        self._recalls = Counter(
            "memory_gateway_recalls", "Recalls, by the way they came (http, mcp).", ["through"], registry=registry
        )
        self._found = Counter(
            "memory_gateway_recalls_by_channel",
            "Recalls in which a channel found any of the memories that were returned.",
            ["channel"],
            registry=registry,
        )
        self._came_through = cache(self._recalls.labels)
        self._found_by = cache(self._found.labels)
        self._dropped = Counter(
            "memory_gateway_recalls_dropped", "Recalls that left no row in the audit.", registry=registry
        )
        self._of_tenants = TenantMetrics(registry) if tenants else None

    def tool_call(self, tenant_id: str, call: ToolCall) -> None:
        """Count a tool call that was kept."""
        tool = self._tools.of(call.tool)
        self._seconds.labels(tool).observe(json.loads(call.ms) / 1000)
        if call.outcome == "error":
            self._errors.labels(tool).inc()
        if call.tokens:
            self._tokens.labels(tool).inc(call.tokens)
            self._costs(tenant_id, "tool_tokens", call.tokens)

    def recall(self, note: RecallNote) -> None:
        """Count a recall."""
        self._came_through(note.through).inc()
        for channel in note.channels:
            self._found_by(channel).inc()
        self._costs(note.tenant_id, "recalls", 1)

    def dropped(self, recalls: int) -> None:
        """Count recalls that left no row."""
        self._dropped.inc(recalls)

    def embedded(self, tenant_id: str, characters: int, tokens: int | None) -> None:
        """Count the texts embedded for a tenant; ``tokens`` is None where the provider does not count them."""
        self._costs(tenant_id, "embedded_characters", characters)
        if tokens:
            self._costs(tenant_id, "embedding_tokens", tokens)

    def request(self, note: RequestNote, seconds: float) -> None:
        """Count a request that was answered."""
        if note.tool:
            outcome = self._message_names.last_of(note.tool, note.outcome)
            self._message_outcomes.labels(note.tool, outcome).inc()
            self._messages.labels(note.tool).observe(seconds)
        for quota in note.quotas_near:
            self._quotas_near.labels(quota).inc()
        if note.code and not note.gone:
            self._problems.labels(self._codes.of(note.code)).inc()
            if self._of_tenants is not None:
                self._of_tenants.refused(note.tenant_id, note.code)

    def model_tokens(self, tenant_id: str, tokens: int) -> None:
        """Count tokens of a call of a language model for a tenant."""
        self._costs(tenant_id, "model_tokens", tokens)

    def _costs(self, tenant_id: str, kind: str, amount: int) -> None:
        if self._of_tenants is not None:
            self._of_tenants.cost(tenant_id, kind, amount)
