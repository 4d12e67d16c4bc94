"""The gauges of what is left: calls of a window, and bytes of the disk."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Gauge

_LEAST: Literal["livemin"] = "livemin"
"""A gauge shows the smallest value of the living workers."""


@dataclass(frozen=True, slots=True)
class _GaugeOfFunction:
    """A gauge, and the function that returns its value. Prometheus' own have no value for other workers."""

    gauge: Gauge
    left: Callable[[], float]

    def refresh(self) -> None:
        self.gauge.set(self.left())


class BudgetGauges:
    """The gauges whose values are asked for when they are shown."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Begin without gauges: each is shown once its function is known."""
        self._registry = registry
        self._gauges: dict[str, _GaugeOfFunction] = {}

    def cloudflare(self, calls_left: Callable[[], float]) -> None:
        """Take the function that returns how many Cloudflare calls are still allowed in this window."""
        meaning = "Cloudflare calls this process may still make in its window"
        self._add("cloudflare_calls_left", meaning, calls_left)

    def embedding(self, calls_left: Callable[[], float]) -> None:
        """Take the function that returns how many calls of the embeddings API are still allowed in this minute.

        Where one process has several embedders of such an API, the first is shown.
        """
        if "embedding_calls_left" not in self._gauges:
            meaning = "Calls of the embeddings API this process may still make in this minute"
            self._add("embedding_calls_left", meaning, calls_left)

    def disk(self, free: Callable[[], float]) -> None:
        """Take the function that returns how many bytes are free on the disk of the data."""
        self._add("disk_free_bytes", "Bytes that are free on the disk of the data", free)

    def _add(self, name: str, meaning: str, left: Callable[[], float]) -> None:
        gauge = Gauge(
            f"memory_gateway_{name}",
            f"{meaning}; of several workers, what the one with the fewest may.",
            multiprocess_mode=_LEAST,
            registry=self._registry,
        )
        self._gauges[name] = _GaugeOfFunction(gauge, left)
        self._gauges[name].refresh()

    def refresh(self) -> None:
        """Set the gauges whose values change as time passes."""
        for gauge in self._gauges.values():
            gauge.refresh()
