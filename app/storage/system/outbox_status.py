"""Reads the status of the outbox over all tenants: figures for operators, without content and names of tenants."""

from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig, lengths
from app.ports.database import NOW, Row, Statement
from app.storage.damaged_words import ALL_INDEXED
from app.storage.lease_rule import holds
from app.storage.rows import read_row
from app.storage.system.leases import INDEXER

READ = Statement.read(f"""
SELECT count(*) FILTER (WHERE acknowledged_at IS NULL AND dead IS NULL) AS undelivered,
  count(*) FILTER (WHERE acknowledged_at IS NOT NULL AND confirmed_at IS NULL) AS unconfirmed,
  count(*) FILTER (WHERE confirmed_at IS NOT NULL) AS confirmed,
  count(dead) AS dead_letters,
  coalesce({NOW} - min(revision) FILTER (WHERE acknowledged_at IS NULL AND dead IS NULL), 0) / 1000.0
    AS oldest_undelivered_seconds,
  coalesce(max(confirmed_at - revision), 0) / 1000.0 AS delivery_lag_seconds,
  (SELECT count(*) FROM erasure WHERE receipt IS NULL) AS erasures,
  (SELECT indexed_to <> {ALL_INDEXED} FROM words_index) AS words_missing,
  (SELECT holder FROM lease WHERE lease.name = '{INDEXER.name}' AND {holds("lease.expires_at", INDEXER.longest_ms)})
    AS lease_holder
FROM outbox
""")

_UNREADABLE = """
SELECT count(*) AS unreadable FROM outbox
WHERE index_name = ?1 ->> 'index_name' AND operation = 'upsert'
  AND length(vector) NOT IN (SELECT value FROM json_each(?1, '$.lengths'))
"""


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """The number of rows by what they wait for, and times in seconds.

    ``oldest_undelivered_seconds`` is the age of the oldest row that the index has not accepted;
    ``delivery_lag_seconds`` is the longest time from being queued to being known visible, of the rows that became
    visible in the last minute. ``words_missing``: the index of words lacks memories, and is being made again.
    """

    undelivered: int
    unconfirmed: int
    confirmed: int
    dead_letters: int
    oldest_undelivered_seconds: float
    delivery_lag_seconds: float
    erasures: int
    words_missing: bool
    lease_holder: str | None


def read(row: Row) -> OutboxStatus:
    """Read the row that ``READ`` returned."""
    return read_row(OutboxStatus, row)


def read_unreadable(config: EmbeddingConfig) -> Statement:
    """Count the vectors queued for a config's index that are ``unreadable``: their length is not the config's."""
    return Statement.read(_UNREADABLE, index_name=config.index_name, lengths=list(lengths(config.dimensions)))
