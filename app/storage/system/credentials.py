"""Statements over the credentials of all tenants: when they were last used. No request imports them."""

from collections.abc import Sequence

from app.domain.json_types import Json
from app.ports.database import NOW, Statement
from app.storage.system import departures

# A credential that was minted without the database is recorded when it is first used.
_USED = f"""
INSERT INTO credential (
  tenant_id, id, agent_id, scopes, speakers, requests_per_minute, minted_at, expires_at, last_used_at
)
SELECT used.value ->> 'tenant_id', used.value ->> 'id', used.value ->> 'agent_id', used.value ->> 'scopes',
  used.value ->> 'speakers', used.value ->> 'requests_per_minute', used.value ->> 'minted_at',
  used.value ->> 'expires_at', {NOW} - (used.value ->> 'ago')
FROM json_each(?1, '$.uses') AS used WHERE {departures.stays("used.value ->> 'tenant_id'")}
ON CONFLICT (tenant_id, id) DO UPDATE SET last_used_at = max(coalesce(last_used_at, 0), excluded.last_used_at)
"""


def note_uses(uses: Sequence[Json]) -> Statement:
    """Write when credentials were last used, ``ago`` milliseconds; one that is not recorded is recorded.

    Uses of tenants that live elsewhere by now are left out (``departures``).
    """
    return Statement.write(_USED, repeatable=True, uses=list(uses))
