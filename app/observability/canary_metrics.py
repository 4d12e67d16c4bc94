"""Counts the prober's probes and leaks.

An alert fires at the first leak, ``increase(memory_gateway_canary_leaks_total[1h]) > 0``, and where rounds have ceased
to pass: ``time() - memory_gateway_canary_last_success_timestamp_seconds > 86400`` of a moment that is not 0.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge


class CanaryMetrics:
    """The metrics of the prober, none of which has a label."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Create the metrics in a registry."""
        self._probes = Counter(
            "memory_gateway_canary_probes",
            "Requests by which the prober has looked for the canaries of other scopes.",
            registry=registry,
        )
        self._leaks = Counter(
            "memory_gateway_canary_leaks",
            "Answers that had a canary of another scope; more than 0 is a breach.",
            registry=registry,
        )
        self._unanswered = Counter(
            "memory_gateway_canary_unanswered",
            "Probes that got no answer, or one of a server that could not answer.",
            registry=registry,
        )
        self._last_success = Gauge(
            "memory_gateway_canary_last_success_timestamp_seconds",
            "When a round of the prober last passed, in seconds since the epoch; 0: none has in this process.",
            multiprocess_mode="max",
            registry=registry,
        )

    def round(self, probes: int, leaks: int, unanswered: int) -> None:
        """Count a round of probes."""
        self._probes.inc(probes)
        self._leaks.inc(leaks)
        self._unanswered.inc(unanswered)

    def passed(self) -> None:
        """Note that a round has passed just now."""
        self._last_success.set_to_current_time()
