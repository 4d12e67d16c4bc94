"""How the outbox stands, over all tenants: figures for operators, no content and no names. No request imports it."""

from dataclasses import dataclass

from app.ports.database import NOW, Row, Statement
from app.storage.request_state import INDEXER

_READ = f"""
SELECT count(*) FILTER (WHERE acknowledged_at IS NULL AND dead IS NULL) AS undelivered,
  count(*) FILTER (WHERE acknowledged_at IS NOT NULL AND confirmed_at IS NULL) AS unconfirmed,
  count(*) FILTER (WHERE confirmed_at IS NOT NULL) AS confirmed,
  count(dead) AS dead_letters,
  {NOW} - min(revision) FILTER (WHERE acknowledged_at IS NULL AND dead IS NULL) AS oldest_undelivered_ms,
  max(confirmed_at - revision) AS delivery_lag_ms,
  (SELECT count(*) FROM erasure WHERE receipt IS NULL) AS erasures,
  (SELECT holder FROM lease WHERE lease.name = '{INDEXER}' AND lease.expires_at > {NOW}) AS lease_holder
FROM outbox
"""

READ = Statement(_READ)


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """Rows by what they wait for, and times in seconds.

    ``oldest_undelivered_seconds`` is the age of the oldest row the index has not taken; ``delivery_lag_seconds``
    the longest time from being queued to being known visible, of what became visible in the last minute.
    """

    undelivered: int
    unconfirmed: int
    confirmed: int
    dead_letters: int
    oldest_undelivered_seconds: float
    delivery_lag_seconds: float
    erasures: int
    lease_holder: str | None


def status(row: Row) -> OutboxStatus:
    """Make it of the row that ``READ`` returned."""
    return OutboxStatus(
        undelivered=int(row["undelivered"] or 0),
        unconfirmed=int(row["unconfirmed"] or 0),
        confirmed=int(row["confirmed"] or 0),
        dead_letters=int(row["dead_letters"] or 0),
        oldest_undelivered_seconds=int(row["oldest_undelivered_ms"] or 0) / 1000,
        delivery_lag_seconds=int(row["delivery_lag_ms"] or 0) / 1000,
        erasures=int(row["erasures"] or 0),
        lease_holder=None if row["lease_holder"] is None else str(row["lease_holder"]),
    )
