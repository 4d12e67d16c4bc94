"""Counts the calls of language models, by stage and model."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from app.observability.names import Names
from app.observability.upstream_metrics import CALL_SECONDS

_MOST_CALLS = 100
"""Stages and models with an outcome that are told apart."""


class ModelMetrics:
    """The metrics of language models."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Create the metrics in a registry."""
        self._calls = Counter(
            "memory_gateway_model_calls",
            "Calls of language models, by stage, model and outcome (ok, or the error's code; other beyond 100).",
            ["stage", "model", "outcome"],
            registry=registry,
        )
        self._names = Names(_MOST_CALLS)
        self._seconds = Histogram(
            "memory_gateway_model_seconds",
            "Duration of calls of language models, by stage and model.",
            ["stage", "model"],
            buckets=(*CALL_SECONDS, 30.0, 60.0),
            registry=registry,
        )
        self._tokens = Counter(
            "memory_gateway_model_tokens",
            "Tokens of messages to language models and of their answers, as the provider counts them.",
            ["stage", "model"],
            registry=registry,
        )

    def call(self, stage: str, model: str, outcome: str, seconds: float, tokens: int) -> None:
        """Count one call of a language model; ``outcome`` is ``ok`` or an error's code."""
        self._calls.labels(stage, model, self._names.last_of(stage, model, outcome)).inc()
        self._seconds.labels(stage, model).observe(seconds)
        self._tokens.labels(stage, model).inc(tokens)
