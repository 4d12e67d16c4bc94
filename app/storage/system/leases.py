"""Statements of leases: a lease lets one process at a time do a named work, and expires if it is not renewed."""

from app.ports.database import NOW, Statement

SECONDS = 60
"""How long a lease holds that is not renewed."""

_HOLD = f"""
INSERT INTO lease (name, holder, expires_at)
VALUES (?1 ->> 'name', ?1 ->> 'holder', {NOW} + {SECONDS * 1000})
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE lease.expires_at <= {NOW} OR lease.holder = excluded.holder
RETURNING expires_at
"""
_RELEASE = "DELETE FROM lease WHERE lease.name = ?1 ->> 'name' AND lease.holder = ?1 ->> 'holder'"


def hold(name: str, holder: str) -> Statement:
    """Take or renew the lease; returns a row if the holder has it."""
    return Statement.write(_HOLD, name=name, holder=holder)


def release(name: str, holder: str) -> Statement:
    """Release the lease if the holder has it."""
    return Statement.write(_RELEASE, name=name, holder=holder)
