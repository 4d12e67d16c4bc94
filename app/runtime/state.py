"""The state of the service for operators: its parts, its outbox, its circuits, and the calls that are left."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from app.domain.circuits import Circuit
from app.observability.latency import Latency
from app.runtime.checks import PartState
from app.runtime.shards import Shards
from app.storage.system.outbox_status import OutboxStatus


@dataclass(frozen=True, slots=True)
class OperatingState:
    """The state of the service as this process sees it, over all tenants."""

    parts: Sequence[PartState]
    outbox: OutboxStatus | None
    """Of the first shard; None: the service is not ready."""
    circuits: Sequence[Circuit]
    calls_left: int | None
    """The calls of Cloudflare that this process may still make in five minutes; None: none are counted."""
    latencies: Sequence[Latency]
    """How long the requests of each kind have taken, the most asked first."""


def are_ready(parts: Sequence[PartState]) -> bool:
    """Tell whether every part that all tenants need works."""
    return all(part.error is None or part.needed_by != "all" for part in parts)


async def state_of(shards: Shards) -> OperatingState:
    """Return the state of the service.

    Raises:
        Unavailable: the database does not answer.
    """
    main = shards.main
    left = inf if main.backends.calls is None else main.backends.calls.left()
    parts = await shards.parts()
    outbox = await main.outbox_status() if are_ready(parts) else None
    return OperatingState(
        parts, outbox, main.backends.circuits(), int(left) if isfinite(left) else None, main.metrics.latencies()
    )
