"""How long requests have taken, read from the histogram of requests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import Metric


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the requests of one kind have taken, in seconds, by this process since it began.

    ``median`` and ``slow`` are upper bounds: half of the requests, and 95 in 100, took no longer. They are
    bounds of the histogram's buckets, infinite where a request took longer than the last one.
    """

    kind: str
    requests: int
    median: float
    slow: float


def latencies(metrics: Iterable[Metric]) -> list[Latency]:
    """Return the latency of each kind of request, the most asked first, of a histogram with the label kind."""
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for metric in metrics:
        for sample in metric.samples:
            if sample.name.endswith("_bucket"):
                buckets[sample.labels["kind"]][float(sample.labels["le"])] += sample.value
    found = [
        Latency(kind, int(counts[float("inf")]), _within(counts, 0.5), _within(counts, 0.95))
        for kind, counts in buckets.items()
    ]
    return sorted(found, key=lambda latency: (-latency.requests, latency.kind))


def _within(counts: Mapping[float, float], share: float) -> float:
    """Return the least bound within which this share of the requests lies; ``counts`` are those up to each bound."""
    return min(bound for bound, count in counts.items() if count >= share * counts[float("inf")])
