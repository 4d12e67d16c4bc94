"""The gauges of the outbox and of the shards."""

from typing import Literal

from prometheus_client import CollectorRegistry, Gauge

from app.storage.system.outbox_status import OutboxStatus

NEWEST: Literal["livemostrecent"] = "livemostrecent"
"""A gauge shows the value that a living worker set last."""


class OutboxGauges:
    """The status of the outbox of all shards, each at the last round of this process's indexer there."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Create the gauges in a registry."""
        self._shards: dict[str, OutboxStatus] = {}
        self._rows = Gauge(
            "memory_gateway_outbox_rows",
            "Rows of the outbox, over all tenants, by what they wait for.",
            ["state"],
            multiprocess_mode=NEWEST,
            registry=registry,
        )
        self._oldest = Gauge(
            "memory_gateway_outbox_oldest_undelivered_seconds",
            "Age of the oldest row that the index has not taken.",
            multiprocess_mode=NEWEST,
            registry=registry,
        )
        self._lag = Gauge(
            "memory_gateway_outbox_delivery_lag_seconds",
            "Longest time from stored to known visible in the index, of the last minute.",
            multiprocess_mode=NEWEST,
            registry=registry,
        )
        self._erasures = Gauge(
            "memory_gateway_erasures", "Erasures under way.", multiprocess_mode=NEWEST, registry=registry
        )
        self._words_missing = Gauge(
            "memory_gateway_words_missing",
            "Shards whose index of words is damaged, or is made again: recalls say lexical_unavailable.",
            multiprocess_mode=NEWEST,
            registry=registry,
        )
        self._holders: set[str] = set()
        self._lease = Gauge(
            "memory_gateway_indexer_lease",
            "1 for the process that holds the indexer's lease, 0 for those that held it before.",
            ["holder"],
            multiprocess_mode=NEWEST,
            registry=registry,
        )

    def show(self, status: OutboxStatus, shard: str) -> None:
        """Set the status of one shard."""
        self._shards[shard] = status
        every = list(self._shards.values())
        for state in ("undelivered", "unconfirmed", "confirmed", "dead_letters"):
            self._rows.labels(state).set(sum(getattr(each, state) for each in every))
        self._oldest.set(max(each.oldest_undelivered_seconds for each in every))
        self._lag.set(max(each.delivery_lag_seconds for each in every))
        self._erasures.set(sum(each.erasures for each in every))
        self._words_missing.set(sum(each.words_missing for each in every))
        holders = {each.lease_holder for each in every if each.lease_holder is not None}
        for holder in self._holders - holders:
            self._lease.labels(holder).set(0)
        for holder in holders:
            self._lease.labels(holder).set(1)
        self._holders = holders


class ShardGauges:
    """The size of each shard, as this process last measured it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Create the gauges in a registry."""

        def gauge(name: str, meaning: str) -> Gauge:
            return Gauge(
                f"memory_gateway_shard_{name}", meaning, ["shard"], multiprocess_mode=NEWEST, registry=registry
            )

        self._bytes = gauge("bytes", "Size of the shard's database.")
        self._vectors = gauge("vectors", "Memories of the shard, each of which has a vector.")
        self._tenants = gauge("tenants", "Tenants that the directory places in the shard.")

    def show(self, name: str, stored_bytes: int, vectors: int, tenants: int) -> None:
        """Set the figures of one shard."""
        self._bytes.labels(name).set(stored_bytes)
        self._vectors.labels(name).set(vectors)
        self._tenants.labels(name).set(tenants)
