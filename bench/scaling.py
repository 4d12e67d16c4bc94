"""What so many memories take of Cloudflare, in databases, indexes, calls and money: the tables of docs/scaling.md.

``python -m bench.scaling`` prints them. What the service uses is measured by the benchmarks that the fields name. The
limits and prices are Cloudflare's and OpenAI's, read in November 2026:

* https://developers.cloudflare.com/d1/platform/pricing/ and .../limits/
* https://developers.cloudflare.com/vectorize/platform/pricing/ and .../limits/
* https://developers.cloudflare.com/workers/platform/pricing/
* https://developers.cloudflare.com/fundamentals/api/reference/limits/
* https://openai.com/api/pricing/
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from bench.report import aligned

_MILLION = 1_000_000
_MONTH_SECONDS = 30 * 86_400
_DAYS_OF_MONTH = 30


@dataclass(frozen=True, slots=True)
class Measured:
    """What one memory, store or recall takes, with memories of 500 characters and 1,536 dimensions."""

    memory_bytes: int = 1_900
    """Of the database, with its indexes and the index of words (bench/row_sizes.py)."""
    recall_bytes: int = 660
    """Of the row that a recall leaves in the log of recalls, with its indexes (bench/row_sizes.py)."""
    dimensions: int = 1_536
    tokens: int = 125
    """Of a memory; a quarter of its characters."""
    query_tokens: int = 15
    store_rows_read: int = 117
    store_rows_written: int = 27
    """With those of the indexer, a round each second (bench/row_sizes.py). D1 counts a row for each changed index."""
    recall_rows_read: int = 3_100
    """At 10,000 memories of one agent that hold conversations, as D1's engine counts them (ADR 0038)."""
    recall_rows_written: int = 4
    """Of the log of recalls (bench/row_sizes.py)."""
    recall_milliseconds: float = 2.0
    """Of the database's one thread, as the same engine tells it for the bench's notes (bench/rows.py)."""
    calls_alone: float = 2.0
    """Of a recall or a store that nothing is joined with (bench/load.py)."""
    recall_calls: float = 1.15
    store_calls: float = 0.2
    """At most, with 64 clients at once (tests/runtime/test_many_clients.py)."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars, beyond what the Workers Paid plan includes; each month where not said otherwise."""

    plan: float = 5.0
    million_rows_read: float = 0.001
    million_rows_written: float = 1.0
    gigabyte: float = 0.75
    million_dimensions_queried: float = 0.01
    million_dimensions_stored: float = 0.0005
    million_requests: float = 0.30
    million_tokens: float = 0.02


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a shard is warned of, and what REST allows."""

    database_bytes: float = 8e9
    index_vectors: float = 16e6
    rest_calls_a_second: float = 1_100 / 300


@dataclass(frozen=True, slots=True)
class Use:
    """How the memories are used."""

    new_a_month: float = 0.1
    """What share of them is new each month."""
    recalls_a_store: float = 10.0
    peak: float = 5.0
    """How many times the mean the busiest minutes are."""
    log_days: float = 400.0
    """How long the row of each recall is kept (``AUDIT_DAYS``); 0 where there is none (``AUDIT_RECALLS``)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a number of memories takes."""

    memories: int
    measured: Measured = Measured()
    prices: Prices = Prices()
    limits: Limits = Limits()
    use: Use = Use()

    @property
    def stores(self) -> float:
        """Each month."""
        return self.memories * self.use.new_a_month

    @property
    def recalls(self) -> float:
        """Each month."""
        return self.stores * self.use.recalls_a_store

    @property
    def memory_bytes(self) -> float:
        """What the memories take."""
        return self.memories * self.measured.memory_bytes

    @property
    def log_bytes(self) -> float:
        """What the log of recalls takes, once it is as old as it gets."""
        return self.recalls * self.use.log_days / _DAYS_OF_MONTH * self.measured.recall_bytes

    @property
    def databases(self) -> int:
        """Enough for the bytes, and for the recalls of the busiest minutes."""
        busy = self.peak(self.recalls) * self.measured.recall_milliseconds / 1000
        return max(ceil((self.memory_bytes + self.log_bytes) / self.limits.database_bytes), ceil(busy))

    @property
    def indexes(self) -> int:
        """Enough for the vectors; each shard has one of its own."""
        return max(self.databases, ceil(self.memories / self.limits.index_vectors))

    def peak(self, operations: float) -> float:
        """Return how many a second the busiest minutes have of what a month has."""
        return operations / _MONTH_SECONDS * self.use.peak

    @property
    def calls_alone(self) -> float:
        """A second, in the busiest minutes, where nothing is joined."""
        return self.peak(self.stores + self.recalls) * self.measured.calls_alone

    @property
    def calls_joined(self) -> float:
        """A second, in the busiest minutes, where 64 clients ask at once."""
        told = self.measured
        return self.peak(self.recalls) * told.recall_calls + self.peak(self.stores) * told.store_calls

    @property
    def transport(self) -> str:
        """What carries it."""
        return "REST" if self.calls_alone <= self.limits.rest_calls_a_second else "edge"

    @property
    def dollars(self) -> dict[str, float]:
        """Each month, by what is paid for."""
        told, price = self.measured, self.prices
        read = self.recalls * told.recall_rows_read + self.stores * told.store_rows_read
        logged = self.recalls * told.recall_rows_written if self.use.log_days else 0
        written = logged + self.stores * told.store_rows_written
        stored = self.memories * told.dimensions
        queried = self.recalls * told.dimensions + stored
        tokens = self.stores * told.tokens + self.recalls * told.query_tokens
        return {
            "D1, rows read": read / _MILLION * price.million_rows_read,
            "D1, rows written": written / _MILLION * price.million_rows_written,
            "D1, storage": (self.memory_bytes + self.log_bytes) / 1e9 * price.gigabyte,
            "Vectorize, queries": queried / _MILLION * price.million_dimensions_queried,
            "Vectorize, storage": stored / _MILLION * price.million_dimensions_stored,
            "Worker": (self.recalls + 2 * self.stores) / _MILLION * price.million_requests,
            "embeddings": tokens / _MILLION * price.million_tokens,
        }


def needs(plans: Sequence[Plan]) -> str:
    """Return the table of what each number of memories needs."""
    head = ("memories", *map(_name, plans))
    rows = [
        ("stores a month", *(f"{plan.stores:,.0f}" for plan in plans)),
        ("recalls a month", *(f"{plan.recalls:,.0f}" for plan in plans)),
        ("memories in D1", *(_size(plan.memory_bytes) for plan in plans)),
        ("log of recalls in D1", *(_size(plan.log_bytes) for plan in plans)),
        ("D1 databases", *(f"{plan.databases:,}" for plan in plans)),
        ("Vectorize indexes", *(f"{plan.indexes:,}" for plan in plans)),
        ("recalls a second at the peak", *(_rate(plan.peak(plan.recalls)) for plan in plans)),
        ("calls a second at the peak, each alone", *(_rate(plan.calls_alone) for plan in plans)),
        ("calls a second at the peak, joined", *(_rate(plan.calls_joined) for plan in plans)),
        ("transport", *(plan.transport for plan in plans)),
    ]
    return aligned([head, *rows])


def costs(plans: Sequence[Plan]) -> str:
    """Return the table of what it costs in a month, without what the plan includes."""
    head = ("dollars a month", *map(_name, plans))
    rows = [(name, *(_dollars(plan.dollars[name]) for plan in plans)) for name in plans[0].dollars]
    total = ("together, with the plan", *(_dollars(sum(plan.dollars.values()) + plan.prices.plan) for plan in plans))
    return aligned([head, *rows, total])


def _name(plan: Plan) -> str:
    return f"{plan.memories:,}" + ("" if plan.use.log_days else ", no log")


def _size(size: float) -> str:
    for unit, power in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.2g}"  # noqa: PLR2004 - two digits say enough


def _dollars(dollars: float) -> str:
    return f"{dollars:,.0f}" if dollars >= 10 else f"{dollars:.2f}"  # noqa: PLR2004 - cents matter below


def plans() -> list[Plan]:
    """Return those of docs/scaling.md."""
    without = Use(log_days=0.0)
    return [Plan(10**3), Plan(10**6), Plan(10**6, use=without), Plan(10**9), Plan(10**9, use=without)]


if __name__ == "__main__":
    print(f"{needs(plans())}\n\n{costs(plans())}")
