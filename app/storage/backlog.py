"""Reads what the outbox of one tenant, or of one agent, waits for, and what of it the index has refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.memory import Scope, Tenant
from app.ports.database import NOW, Row
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement

MOST_COUNTED = 10_000
"""Rows of the outbox that are counted at most."""

_OWN = """
outbox.tenant_id = ?1 ->> 'tenant_id' AND (?1 ->> 'agent_id' IS NULL OR outbox.agent_id = ?1 ->> 'agent_id')
"""
_COUNT = f"""
SELECT count(*) FILTER (WHERE row.acknowledged_at IS NULL AND row.dead IS NULL) AS undelivered,
  count(*) FILTER (WHERE row.acknowledged_at IS NOT NULL AND row.confirmed_at IS NULL) AS unconfirmed,
  count(row.dead) AS dead_letters, count(*) = {MOST_COUNTED} AS more,
  coalesce({NOW} - min(row.revision) FILTER (WHERE row.acknowledged_at IS NULL AND row.dead IS NULL), 0) AS oldest_ms
FROM (
  SELECT outbox.acknowledged_at, outbox.confirmed_at, outbox.dead, outbox.revision FROM outbox
  WHERE {_OWN} LIMIT {MOST_COUNTED}
) AS row
"""
_REFUSED = f"""
SELECT outbox.agent_id, outbox.id AS memory_id, outbox.operation, outbox.dead AS reason, outbox.revision AS queued_at
FROM outbox WHERE {_OWN} AND outbox.dead IS NOT NULL
ORDER BY outbox.revision DESC LIMIT ?1 ->> 'limit'
"""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a tenant's outbox waits for: numbers of rows, and in ms the age of the oldest undelivered one."""

    undelivered: int
    unconfirmed: int
    dead_letters: int
    more: bool
    """Whether there are more rows than were counted."""
    oldest_ms: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A change of a vector that the index has refused for good. ``queued_at`` is in ms since the epoch."""

    agent_id: str
    memory_id: str
    operation: str
    reason: str
    queued_at: int


def read(owner: Scope | Tenant, limit: int) -> list[ScopedStatement]:
    """Read the backlog of a tenant, or of one agent, and its newest dead letters, for ``backlog``."""
    return [ScopedStatement.read(owner, _COUNT), ScopedStatement.read(owner, _REFUSED, limit=limit)]


def backlog(results: Sequence[Sequence[Row]]) -> tuple[Backlog, list[DeadLetter]]:
    """Read the results of ``read``."""
    (counts,), refused = results
    return read_row(Backlog, counts), read_rows(DeadLetter, refused)
