"""Reads what a process shows to Prometheus."""

from prometheus_client.parser import text_string_to_metric_families

from app.observability.metrics import Metrics


def samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the samples of exactly this name by the values of their labels, in the order of the labels' names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.render().decode())
        for sample in family.samples
        if sample.name == name
    }


def calls(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return how many calls there were, by operation and outcome."""
    return samples(metrics, "memory_gateway_upstream_calls_total")
