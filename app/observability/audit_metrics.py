"""Counts tool calls, recalls, and the costs and errors of each tenant, for Prometheus."""

import json
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram

from app.domain.audit import RecallNote, ToolCall
from app.domain.request_note import RequestNote

MOST_TOOLS = 50
"""How many names of tools are told apart; all others count as ``other``."""
MOST_TENANTS = 200
OTHER = "other"

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class _Names:
    """The first names that are seen; every other name becomes ``other``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._seen:
            if len(self._seen) >= self._most:
                return OTHER
            self._seen.add(name)
        return name


class AuditMetrics:
    """The metrics of tool calls, recalls and costs in one process. Implements ``AuditCounts``."""

    def __init__(self, registry: CollectorRegistry, *, tenants: bool = False) -> None:
        """Create the metrics; ``tenants``: count the costs and the errors of each tenant too, by its name."""
        self._tools = _Names(MOST_TOOLS)
        self._tenants = _Names(MOST_TENANTS)
        self._seconds = Histogram(
            "memory_gateway_tool_seconds",
            "Duration of the tool calls of runs, as their callers report it, by tool (the first 50, then other).",
            ["tool"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._messages = Histogram(
            "memory_gateway_mcp_tool_seconds",
            "Duration of calls of the service's own tools over MCP, by tool and outcome (ok, degraded, gone (nobody "
            "waited for the answer), or the error's code).",
            ["tool", "outcome"],
            buckets=_SECONDS,
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
        self._cost: Counter | None = None
        self._refused: Counter | None = None
        if tenants:
            self._refused = Counter(
                "memory_gateway_tenant_errors",
                "Requests of tenants (the first 200, then other) that were answered with an error, by its code.",
                ["tenant", "code"],
                registry=registry,
            )
            self._cost = Counter(
                "memory_gateway_tenant_cost",
                "What tenants (the first 200, then other) have used, by kind: tool_tokens, model_tokens, recalls, "
                "embedded_characters, embedding_tokens (where the provider counts them).",
                ["tenant", "kind"],
                registry=registry,
            )

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
            self._messages.labels(note.tool, note.outcome).observe(seconds)
        if note.code and not note.gone and self._refused is not None:
            self._refused.labels(self._tenants.of(note.tenant_id), note.code).inc()

    def model_tokens(self, tenant_id: str, tokens: int) -> None:
        """Count tokens of a call of a language model for a tenant."""
        self._costs(tenant_id, "model_tokens", tokens)

    def _costs(self, tenant_id: str, kind: str, amount: int) -> None:
        if self._cost is not None:
            self._cost.labels(self._tenants.of(tenant_id), kind).inc(amount)
