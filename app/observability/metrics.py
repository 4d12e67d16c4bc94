"""Counts requests, and keeps the metrics of all other subjects in one registry, for Prometheus."""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest, values
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from app.domain.sensitive import Handling, SensitiveKind
from app.domain.shards import MAIN
from app.observability.budget_gauges import BudgetGauges
from app.observability.canary_metrics import CanaryMetrics
from app.observability.gauges import OutboxGauges, ShardGauges
from app.observability.latency import Latency, latencies
from app.observability.model_metrics import ModelMetrics
from app.observability.upstream_metrics import UpstreamMetrics
from app.observability.worker_files import WorkersCollector
from app.storage.system.outbox_status import OutboxStatus

MEDIA_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REFUSED, _FAILED = 400, 500
_KINDS = frozenset({"store", "recall", "ingest", "mcp"})
REFRESH_SECONDS = 5.0
"""How often a worker refreshes its gauges."""


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self, *, of_workers: bool = False) -> None:
        """Create the metrics; ``of_workers``: this process is one of several, whose metrics are shown together."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nothing asks for
        self.of_workers = of_workers
        """Whether another worker may be asked for this one's gauges."""
        if of_workers:  # a worker was forked from a process that had imported prometheus_client for itself
            values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "memory_gateway_requests",
            "Requests by method, route and outcome: ok, failed (5xx), or refused (4xx), which have no route: "
            "memory_gateway_problems_total has their codes.",
            ["method", "route", "outcome"],
            registry=self.registry,
        )
        self._of_request = cache(self._requests.labels)
        self._gone = Counter(
            "memory_gateway_requests_gone", "Requests that nobody waited for any more.", registry=self.registry
        )
        self._seconds = Histogram(
            "memory_gateway_request_seconds",
            "Duration of requests by kind: store, recall, ingest and mcp by the end of the route, else read or write.",
            ["kind"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._of_kind = cache(self._seconds.labels)
        self._episodes_near_limit = Counter(
            "memory_gateway_episodes_near_limit",
            "Tenants that had 80 % of the episodes that they may have, each once a day (UTC).",
            registry=self.registry,
        )
        self._sensitive = Counter(
            "memory_gateway_sensitive_content",
            "Keys, tokens and the like in what was to be stored, by kind and by what was done (count, mask, refuse).",
            ["kind", "handling"],
            registry=self.registry,
        )
        self.upstream = UpstreamMetrics(self.registry)
        self.models = ModelMetrics(self.registry)
        self.budgets = BudgetGauges(self.registry)
        self._outbox = OutboxGauges(self.registry)
        self._shards = ShardGauges(self.registry)
        self.canaries = CanaryMetrics(self.registry)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; ``route`` is the declared path, empty without one; ``status`` is 0 without an answer."""
        if not status:
            self._gone.inc()
            return
        outcome = "ok" if status < _REFUSED else "refused" if status < _FAILED else "failed"
        self._of_request(method, "" if outcome == "refused" else route, outcome).inc()
        self._of_kind(_kind(method, route)).observe(seconds)

    def latencies(self) -> list[Latency]:
        """Return how long the requests of each kind have taken, by this process since it began."""
        return latencies(self._seconds.collect())

    def sensitive_content(self, kind: SensitiveKind, handling: Handling, times: int) -> None:
        """Count content that should not be kept."""
        self._sensitive.labels(kind, handling).inc(times)

    def episodes_near_limit(self) -> None:
        """Count a tenant that has nearly as many episodes as it may have, once a day (UTC)."""
        self._episodes_near_limit.inc()

    async def refresh(self) -> None:
        """Refresh the gauges, so that any worker that answers has this one's recent values."""
        self.budgets.refresh()

    def outbox(self, status: OutboxStatus, shard: str = MAIN) -> None:
        """Set the status of the outbox of one shard; the gauges show the status over all shards."""
        self._outbox.show(status, shard)

    def shard(self, name: str, stored_bytes: int, vectors: int, tenants: int) -> None:
        """Set the figures of a shard."""
        self._shards.show(name, stored_bytes, vectors, tenants)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus; with several workers, those of all workers together."""
        self.budgets.refresh()
        if not self.of_workers:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        WorkersCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def _kind(method: str, route: str) -> str:
    last = route.rpartition("/")[2]
    if last in _KINDS:
        return last
    return "read" if method in {"GET", "HEAD"} else "write"
