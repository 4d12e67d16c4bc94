"""Counts the costs and the errors of each tenant, by its name."""

from prometheus_client import CollectorRegistry, Counter

from app.observability.names import Names

_MOST_TENANTS = 100
_MOST_PAIRS = 100
"""Pairs of a tenant with an error's code that are told apart."""


class TenantMetrics:
    """The metrics of the first hundred tenants; all others count as ``other``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Create the metrics in a registry."""
        self._tenants = Names(_MOST_TENANTS)
        self._refused = Counter(
            "memory_gateway_tenant_errors",
            "Requests of tenants (the first 100, then other) that were answered with an error, by its code (other "
            "beyond 100 pairs).",
            ["tenant", "code"],
            registry=registry,
        )
        self._refused_names = Names(_MOST_PAIRS)
        self._cost = Counter(
            "memory_gateway_tenant_cost",
            "What tenants (the first 100, then other) have used, by kind: tool_tokens, model_tokens, recalls, "
            "embedded_characters, embedding_tokens (where the provider counts them).",
            ["tenant", "kind"],
            registry=registry,
        )

    def cost(self, tenant_id: str, kind: str, amount: int) -> None:
        """Count what a tenant has used."""
        self._cost.labels(self._tenants.of(tenant_id), kind).inc(amount)

    def refused(self, tenant_id: str, code: str) -> None:
        """Count a request that was answered with an error."""
        tenant = self._tenants.of(tenant_id)
        self._refused.labels(tenant, self._refused_names.last_of(tenant, code)).inc()
