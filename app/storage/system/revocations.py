"""Statements about revoked credentials. They read those of all tenants; no request imports them."""

from app.ports.database import Statement
from app.storage.undoing import REVOKED_AT

_MAX_ROWS = 5_000
"""Rows that one statement reads at most."""

_READ = f"""
SELECT revocation.tenant_id, revocation.credential_id, revocation.issued_before, revocation.revoked_at
FROM revocation WHERE revocation.revoked_at > ?1 ->> 'since' ORDER BY revocation.revoked_at LIMIT {_MAX_ROWS}
"""
_REVOKE = f"""
INSERT INTO revocation (tenant_id, credential_id, issued_before, revoked_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'credential_id', ?1 ->> 'issued_before', {REVOKED_AT} WHERE TRUE
ON CONFLICT (tenant_id, credential_id) DO UPDATE SET
  issued_before = max(issued_before, excluded.issued_before), revoked_at = excluded.revoked_at
"""


def read(since: int) -> Statement:
    """Read the next revocations after the moment ``since``, oldest first, as rows of ``revocations.Revocation``."""
    return Statement.read(_READ, since=since)


def revoke(tenant_id: str, credential_id: str) -> Statement:
    """Revoke one credential of a tenant."""
    return Statement.write(
        _REVOKE, repeatable=True, tenant_id=tenant_id, credential_id=credential_id, issued_before=None
    )


def revoke_all(tenant_id: str, issued_before: int) -> Statement:
    """Revoke the credentials of a tenant that were issued before a moment (ms since the epoch)."""
    return Statement.write(_REVOKE, repeatable=True, tenant_id=tenant_id, credential_id="", issued_before=issued_before)
