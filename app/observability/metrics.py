"""Counts requests, the calls to other services and the state of the outbox, for Prometheus."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    values,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from app.domain.circuits import CircuitState
from app.domain.errors import MemoryGatewayError
from app.domain.sensitive import Handling, SensitiveKind
from app.domain.shards import MAIN
from app.observability.canary_metrics import CanaryMetrics
from app.observability.gauges import NEWEST, OutboxGauges, ShardGauges
from app.observability.latency import Latency, latencies
from app.observability.names import OTHER, Names
from app.observability.traces import Traces, fail
from app.observability.worker_files import WorkersCollector
from app.storage.system.outbox_status import OutboxStatus

MEDIA_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_CALL_SECONDS = (0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_MOST_CALLS = 100
"""Operations with an outcome that are told apart."""
_REFUSED, _FAILED = 400, 500
_KINDS = frozenset({"store", "recall", "ingest", "mcp"})
_LEAST: Literal["livemin"] = "livemin"
"""A gauge shows the smallest value of the living workers."""
_MOST: Literal["livemax"] = "livemax"
"""A gauge shows the largest value of the living workers."""
_CIRCUIT_STATES: tuple[CircuitState, ...] = ("closed", "half_open", "open")
NO_ATTRIBUTES: Mapping[str, str | int] = {}
_REFRESH_SECONDS = 5.0
_TOKENS = (16, 64, 256, 1024, 4096, 16384, 65536)


class Metrics:
    """The metrics of one process, in a registry of their own."""

    def __init__(self, *, of_workers: bool = False) -> None:
        """Create the metrics; ``of_workers``: this process is one of several, whose metrics are shown together."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nothing asks for
        self.traces: Traces | None = None
        """Opens spans of requests and calls; None: nothing is traced."""
        self._of_workers = of_workers
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
        self._calls = Counter(
            "memory_gateway_upstream_calls",
            "Calls to other services, by operation and outcome (ok, or the error's code; other beyond 100 pairs).",
            ["operation", "outcome"],
            registry=self.registry,
        )
        self._call_names = Names(_MOST_CALLS)
        self._call_seconds = Histogram(
            "memory_gateway_upstream_seconds",
            "Duration of calls to other services, by operation.",
            ["operation"],
            buckets=_CALL_SECONDS,
            registry=self.registry,
        )
        self._tokens = Histogram(
            "memory_gateway_embedding_tokens",
            "Tokens of one embedding call, as the provider counts them.",
            ["model"],
            buckets=_TOKENS,
            registry=self.registry,
        )
        self._model_calls = Counter(
            "memory_gateway_model_calls",
            "Calls of language models, by stage, model and outcome (ok, or the error's code; other beyond 100).",
            ["stage", "model", "outcome"],
            registry=self.registry,
        )
        self._model_names = Names(_MOST_CALLS)
        self._model_seconds = Histogram(
            "memory_gateway_model_seconds",
            "Duration of calls of language models, by stage and model.",
            ["stage", "model"],
            buckets=(*_CALL_SECONDS, 30.0, 60.0),
            registry=self.registry,
        )
        self._model_tokens = Counter(
            "memory_gateway_model_tokens",
            "Tokens of messages to language models and of their answers, as the provider counts them.",
            ["stage", "model"],
            registry=self.registry,
        )
        self._retries = Counter(
            "memory_gateway_upstream_retries", "Calls made again.", ["operation"], registry=self.registry
        )
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
        self._ratelimit = Gauge(
            "memory_gateway_cloudflare_ratelimit",
            "Cloudflare's own rate limit as its last answer told it.",
            ["policy", "figure"],
            multiprocess_mode=NEWEST,
            registry=self.registry,
        )
        self._circuits = Gauge(
            "memory_gateway_circuit_state",
            "Whether calls are made: 0 closed (they are), 1 half open (one is, to see), 2 open (they are refused).",
            ["circuit"],
            multiprocess_mode=_MOST,
            registry=self.registry,
        )
        self._circuits_opened = Counter(
            "memory_gateway_circuit_opened",
            "Circuits that were opened, because calls in a row got no answer in time.",
            ["circuit"],
            registry=self.registry,
        )
        self._budgets: dict[str, _BudgetGauge] = {}
        """Gauges whose values are asked for when they are shown, by their names."""
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

    def call(self, operation: str, outcome: str, seconds: float) -> None:
        """Count one call; ``outcome`` is ``ok`` or an error's code."""
        known = self._call_names.of(f"{operation} {outcome}") != OTHER
        self._calls.labels(operation, outcome if known else OTHER).inc()
        self._call_seconds.labels(operation).observe(seconds)

    @contextmanager
    def measured(
        self,
        operation: str,
        attributes: Mapping[str, str | int] = NO_ATTRIBUTES,
        *,
        fine: type[Exception] | None = None,
    ) -> Iterator[None]:
        """Record the duration and the outcome of the call made inside, with a span where it is traced.

        An exception that is ``fine`` is an answer too.
        """
        started, outcome = time.perf_counter(), "failed"
        with nullcontext() if self.traces is None else self.traces.call(operation, attributes) as span:
            try:
                yield
                outcome = "ok"
            except asyncio.CancelledError:
                outcome = "cancelled"
                raise
            except MemoryGatewayError as error:
                outcome = error.code
                raise
            except Exception as error:
                outcome = "ok" if fine is not None and isinstance(error, fine) else outcome
                raise
            finally:
                self.call(operation, outcome, time.perf_counter() - started)
                if span is not None and outcome != "ok":
                    fail(span, outcome)

    def retry(self, operation: str) -> None:
        """Count a retry."""
        self._retries.labels(operation).inc()

    def circuit(self, name: str, state: CircuitState, *, opened: bool = False) -> None:
        """Set the state of a circuit; ``opened``: the circuit was closed until now."""
        self._circuits.labels(name).set(_CIRCUIT_STATES.index(state))
        self._circuits_opened.labels(name).inc(int(opened))

    def tokens(self, model: str, tokens: int) -> None:
        """Count the tokens of one embedding call."""
        self._tokens.labels(model).observe(tokens)

    def model_call(self, stage: str, model: str, outcome: str, seconds: float, tokens: int) -> None:
        """Count one call of a language model; ``outcome`` is ``ok`` or an error's code."""
        known = self._model_names.of(f"{stage} {model} {outcome}") != OTHER
        self._model_calls.labels(stage, model, outcome if known else OTHER).inc()
        self._model_seconds.labels(stage, model).observe(seconds)
        self._model_tokens.labels(stage, model).inc(tokens)

    def sensitive_content(self, kind: SensitiveKind, handling: Handling, times: int) -> None:
        """Count content that should not be kept."""
        self._sensitive.labels(kind, handling).inc(times)

    def episodes_near_limit(self) -> None:
        """Count a tenant that has nearly as many episodes as it may have, once a day (UTC)."""
        self._episodes_near_limit.inc()

    def ratelimit(self, policy: str, figure: str, value: int) -> None:
        """Set a figure of Cloudflare's rate limit, such as ``remaining`` or ``quota``."""
        self._ratelimit.labels(policy, figure).set(value)

    def budget(self, calls_left: Callable[[], float]) -> None:
        """Take the function that returns how many Cloudflare calls are still allowed in this window."""
        meaning = "Cloudflare calls this process may still make in its window"
        self._add_budget("cloudflare_calls_left", meaning, calls_left)

    def embedding_budget(self, calls_left: Callable[[], float]) -> None:
        """Take the function that returns how many calls of the embeddings API are still allowed in this minute.

        Where one process has several embedders of such an API, the first is shown.
        """
        if "embedding_calls_left" not in self._budgets:
            meaning = "Calls of the embeddings API this process may still make in this minute"
            self._add_budget("embedding_calls_left", meaning, calls_left)

    def disk(self, free: Callable[[], float]) -> None:
        """Take the function that returns how many bytes are free on the disk of the data."""
        self._add_budget("disk_free_bytes", "Bytes that are free on the disk of the data", free)

    def _add_budget(self, name: str, meaning: str, calls_left: Callable[[], float]) -> None:
        gauge = Gauge(
            f"memory_gateway_{name}",
            f"{meaning}; of several workers, what the one with the fewest may.",
            multiprocess_mode=_LEAST,
            registry=self.registry,
        )
        self._budgets[name] = _BudgetGauge(gauge, calls_left)
        self._budgets[name].refresh()

    def refresh(self) -> None:
        """Set the gauges whose values change as time passes."""
        for budget in self._budgets.values():
            budget.refresh()

    async def keep_fresh(self) -> None:
        """Refresh the gauges every few seconds, so that any worker that answers has every worker's recent value.

        The loop ends when it is cancelled; where this process is the only one, it ends at once, because ``render``
        refreshes the gauges.
        """
        while self._of_workers:
            self.refresh()
            await asyncio.sleep(_REFRESH_SECONDS)

    def outbox(self, status: OutboxStatus, shard: str = MAIN) -> None:
        """Set the status of the outbox of one shard; the gauges show the status over all shards."""
        self._outbox.show(status, shard)

    def shard(self, name: str, stored_bytes: int, vectors: int, tenants: int) -> None:
        """Set the figures of a shard."""
        self._shards.show(name, stored_bytes, vectors, tenants)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus; with several workers, those of all workers together."""
        self.refresh()
        if not self._of_workers:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        WorkersCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def _kind(method: str, route: str) -> str:
    last = route.rpartition("/")[2]
    if last in _KINDS:
        return last
    return "read" if method in {"GET", "HEAD"} else "write"


@dataclass(frozen=True, slots=True)
class _BudgetGauge:
    """The gauge of a call budget, and the function that returns how many calls are left.

    Prometheus' own gauges of a function have no value for other workers.
    """

    gauge: Gauge
    calls_left: Callable[[], float]

    def refresh(self) -> None:
        self.gauge.set(self.calls_left())
