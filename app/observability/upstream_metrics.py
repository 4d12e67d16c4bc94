"""Counts the calls to other services, by operation and outcome, and shows their limits and circuits."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from app.domain.circuits import CircuitState
from app.domain.errors import MemoryGatewayError
from app.observability.gauges import NEWEST
from app.observability.names import Names
from app.observability.traces import Traces, fail

CALL_SECONDS = (0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_MOST_CALLS = 100
"""Operations with an outcome that are told apart."""
_MOST: Literal["livemax"] = "livemax"
"""A gauge shows the largest value of the living workers."""
_CIRCUIT_STATES: tuple[CircuitState, ...] = ("closed", "half_open", "open")
NO_ATTRIBUTES: Mapping[str, str | int] = {}
_TOKENS = (16, 64, 256, 1024, 4096, 16384, 65536)


class UpstreamMetrics:
    """The metrics of the calls that this process makes to other services."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Create the metrics in a registry."""
        self.traces: Traces | None = None
        """Opens the spans of calls, and of requests; None: nothing is traced."""
        self._calls = Counter(
            "memory_gateway_upstream_calls",
            "Calls to other services, by operation and outcome (ok, or the error's code; other beyond 100 pairs).",
            ["operation", "outcome"],
            registry=registry,
        )
        self._call_names = Names(_MOST_CALLS)
        self._call_seconds = Histogram(
            "memory_gateway_upstream_seconds",
            "Duration of calls to other services, by operation.",
            ["operation"],
            buckets=CALL_SECONDS,
            registry=registry,
        )
        self._tokens = Histogram(
            "memory_gateway_embedding_tokens",
            "Tokens of one embedding call, as the provider counts them.",
            ["model"],
            buckets=_TOKENS,
            registry=registry,
        )
        self._retries = Counter(
            "memory_gateway_upstream_retries", "Calls made again.", ["operation"], registry=registry
        )
        self._ratelimit = Gauge(
            "memory_gateway_cloudflare_ratelimit",
            "Cloudflare's own rate limit as its last answer told it.",
            ["policy", "figure"],
            multiprocess_mode=NEWEST,
            registry=registry,
        )
        self._circuits = Gauge(
            "memory_gateway_circuit_state",
            "Whether calls are made: 0 closed (they are), 1 half open (one is, to see), 2 open (they are refused).",
            ["circuit"],
            multiprocess_mode=_MOST,
            registry=registry,
        )
        self._circuits_opened = Counter(
            "memory_gateway_circuit_opened",
            "Circuits that were opened, because calls in a row got no answer in time.",
            ["circuit"],
            registry=registry,
        )

    def call(self, operation: str, outcome: str, seconds: float) -> None:
        """Count one call; ``outcome`` is ``ok`` or an error's code."""
        self._calls.labels(operation, self._call_names.last_of(operation, outcome)).inc()
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

    def ratelimit(self, policy: str, figure: str, value: int) -> None:
        """Set a figure of Cloudflare's rate limit, such as ``remaining`` or ``quota``."""
        self._ratelimit.labels(policy, figure).set(value)
