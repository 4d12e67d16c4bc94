"""Statements of named leases, by the rule of all leases (``lease_rule``): one process at a time does a named work."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Row, Statement
from app.storage.lease_rule import LEASE_MS, holds, void
from app.storage.rows import read_rows

_LONGEST = "?1 ->> 'longest_ms'"
_HOLD = f"""
INSERT INTO lease (name, holder, expires_at)
VALUES (?1 ->> 'name', ?1 ->> 'holder', {NOW} + ?1 ->> 'lease_ms')
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE NOT {holds("lease.expires_at", _LONGEST)} OR lease.holder = excluded.holder
RETURNING expires_at
"""
_RELEASE = "DELETE FROM lease WHERE lease.name = ?1 ->> 'name' AND lease.holder = ?1 ->> 'holder'"
_READ = f"""
SELECT name, holder, lease.expires_at - {NOW} AS left_ms, {void("lease.expires_at", _LONGEST)} AS void
FROM lease WHERE lease.name = ?1 ->> 'name'
"""
# A process holds each lease under its own name, or under a name that contains its own.
_RELEASE_ALL = (
    "DELETE FROM lease WHERE lease.holder = ?1 ->> 'process' RETURNING name",
    f"""
UPDATE ingestion SET lease_holder = NULL, lease_expires_at = {NOW}
WHERE ingestion.finished_at IS NULL AND substr(ingestion.lease_holder, 1, length(?1 ->> 'process') + 1)
  = (?1 ->> 'process') || '/'
RETURNING id
""",
    f"""
UPDATE tenant_moves SET leased_until = 0
WHERE instr(tenant_moves.mover, ':' || (?1 ->> 'process') || ':') > 0 AND {holds("tenant_moves.leased_until", 60_000)}
RETURNING tenant_id
""",
)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as the database has it."""

    name: str
    holder: str
    left_ms: int
    """Milliseconds until the lease ends."""
    void: bool
    """Whether the lease ends further ahead than it can: the database's clock was ahead when it was taken."""


@dataclass(frozen=True, slots=True)
class NamedLease:
    """The lease of one work; ``longest_ms``: for how long any process may take it."""

    name: str
    longest_ms: int = LEASE_MS

    def hold(self, holder: str, lease_ms: int | None = None) -> Statement:
        """Take or renew the lease, for ``lease_ms`` or the longest time; returns a row if the holder has it."""
        return Statement.write(
            _HOLD, name=self.name, holder=holder, lease_ms=lease_ms or self.longest_ms, longest_ms=self.longest_ms
        )

    def read(self) -> Statement:
        """Read the lease as the database has it, for ``read_leases``."""
        return Statement.read(_READ, name=self.name, longest_ms=self.longest_ms)

    def release(self, holder: str) -> Statement:
        """Release the lease if the holder has it."""
        return Statement.write(_RELEASE, name=self.name, holder=holder)


INDEXER = NamedLease("indexer", 45_000)
"""This lease lasts for the pause between two rounds, which is at most 30 s, and for the length of any lease."""


def read_leases(rows: Sequence[Row]) -> list[Lease]:
    """Read the rows of ``NamedLease.read``."""
    return read_rows(Lease, rows)


def release_all_of(process: str) -> list[Statement]:
    """Release every lease of a process that has died, or ends: named ones, those of ingestions and those of moves.

    Each statement returns a row for each lease.
    """
    return [Statement.write(sql, repeatable=True, process=process) for sql in _RELEASE_ALL]
