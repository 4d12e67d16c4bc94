"""How long requests have taken, read from the histogram of requests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import Metric


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the requests of one route have taken, in seconds, by this process since it began.

    ``median`` and ``slow`` are upper bounds: half of the requests, and 95 in 100, took no longer. They are
    bounds of the histogram's buckets, infinite where a request took longer than the last one.
    """

    route: str
    requests: int
    median: float
    slow: float


def latencies(metrics: Iterable[Metric]) -> list[Latency]:
    """Return the latency of each route, the most asked first, of a histogram with the labels method and route."""
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for metric in metrics:
        for sample in metric.samples:
            if sample.name.endswith("_bucket") and sample.labels["route"]:
                route = f"{sample.labels['method']} {sample.labels['route']}"
                buckets[route][float(sample.labels["le"])] += sample.value
    found = [
        Latency(route, int(counts[float("inf")]), _within(counts, 0.5), _within(counts, 0.95))
        for route, counts in buckets.items()
    ]
    return sorted(found, key=lambda latency: (-latency.requests, latency.route))


def _within(counts: Mapping[float, float], share: float) -> float:
    """Return the least bound within which this share of the requests lies; ``counts`` are those up to each bound."""
    return min(bound for bound, count in counts.items() if count >= share * counts[float("inf")])
