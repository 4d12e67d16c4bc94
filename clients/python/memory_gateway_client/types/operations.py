"""Types of operations.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Health:
    """The process is alive.

    Attributes:
        status: Left out: ``ok``.
    """

    status: str = "ok"


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """What vectors are made with."""

    provider: str
    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the service: the backend behind it, and why it does not work, if so.

    Attributes:
        status: One of ``ok``, ``failing``.
    """

    name: str
    backend: str
    status: str
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Outbox:
    """How the outbox stands, over all tenants: rows by what they wait for, and who works on them.

    Attributes:
        undelivered: Not taken by the index yet.
        unconfirmed: Taken, not known to show yet.
        confirmed: Known to show, still scored by recalls for a minute.
        dead_letters: Refused by the index: see ``memory-gateway outbox``.
        delivery_lag_seconds: Longest time from stored to known visible, of the last minute.
        erasures: Erasures under way.
        lease_holder: The process whose indexer works.
    """

    undelivered: int
    unconfirmed: int
    confirmed: int
    dead_letters: int
    oldest_undelivered_seconds: float
    delivery_lag_seconds: float
    erasures: int
    lease_holder: str | None


@dataclass(frozen=True, slots=True)
class Circuit:
    """Whether this process makes calls of one kind: it makes none for a while after some that got no answer in time.

    Attributes:
        name: The service, and the kind of the calls, such as ``vectorize.query``.
        state: ``closed``: calls are made. ``open``: they are refused. ``half_open``: one is made, to see.
        since: Since when it has not been closed; absent where it is.
        opened: How often this process has opened it.
        error: The time-out by which it was last opened.
    """

    name: str
    state: str
    opened: int
    since: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether requests can be served, and by what.

    Attributes:
        status: One of ``ready``, ``not_ready``.
        outbox: With ``details``, for an administrator.
        circuits: With ``details``: the circuits of the process that answers; each replica has its own.
    """

    status: str
    embedding_config: EmbeddingConfig
    parts: tuple[Part, ...]
    outbox: Outbox | None = None
    circuits: tuple[Circuit, ...] = ()
