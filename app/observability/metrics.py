"""What the service counts of its calls to others, for Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TOKENS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536)


class Metrics:
    """One process's counters, in a registry of their own."""

    def __init__(self) -> None:
        """Start from zero."""
        self._registry = CollectorRegistry()
        self._calls = Histogram(
            "memory_gateway_upstream_seconds",
            "Duration of calls to other services, by operation and outcome (ok, or the error's code).",
            ["operation", "outcome"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._tokens = Histogram(
            "memory_gateway_embedding_tokens",
            "Tokens of one embedding call, as the provider counts them.",
            ["model"],
            buckets=_TOKENS,
            registry=self._registry,
        )
        self._retries = Counter(
            "memory_gateway_upstream_retries", "Calls made again.", ["operation"], registry=self._registry
        )
        self._ratelimit = Gauge(
            "memory_gateway_cloudflare_ratelimit",
            "Cloudflare's own rate limit as its last answer told it.",
            ["policy", "figure"],
            registry=self._registry,
        )

    def call(self, operation: str, outcome: str, seconds: float) -> None:
        """Count one call; ``outcome`` is ``ok`` or an error's code."""
        self._calls.labels(operation, outcome).observe(seconds)

    def retry(self, operation: str) -> None:
        """Count a call that is made again."""
        self._retries.labels(operation).inc()

    def tokens(self, model: str, tokens: int) -> None:
        """Count the tokens of one embedding call."""
        self._tokens.labels(model).observe(tokens)

    def ratelimit(self, policy: str, figure: str, value: int) -> None:
        """Keep a figure of Cloudflare's rate limit, such as ``remaining`` or ``quota``."""
        self._ratelimit.labels(policy, figure).set(value)

    def budget(self, left: Callable[[], float]) -> None:
        """Show, whenever asked, how many Cloudflare calls may still be made in this window."""
        gauge = Gauge(
            "memory_gateway_cloudflare_calls_left",
            "Cloudflare calls this process may still make in its window.",
            registry=self._registry,
        )
        gauge.set_function(left)

    def render(self) -> bytes:
        """Write everything in Prometheus' text form."""
        return generate_latest(self._registry)
