"""Who may do what only one process should do at a time: a lease by name, kept in the database, that runs out."""

from app.domain.json_types import Json
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
    """Take or renew the lease; returns a row where it is the holder's."""
    return Statement(_HOLD, _of(name, holder), writes=True, repeatable=True)


def release(name: str, holder: str) -> Statement:
    """Give the lease back."""
    return Statement(_RELEASE, _of(name, holder), writes=True, repeatable=True)


def _of(name: str, holder: str) -> dict[str, Json]:
    return {"name": name, "holder": holder}
