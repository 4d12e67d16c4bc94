"""Statements over the canaries of all tenants. They cross tenants; no request imports them."""

from collections.abc import Iterable

from app.domain.canaries import CANARY_AGENT, Canary
from app.ports.database import NOW, Row, Statement
from app.storage.system.leases import NamedLease

LONGEST_MS = 7 * 24 * 3600 * 1000
LEASE = NamedLease("canaries", LONGEST_MS)
"""The lease of the rounds: it lasts from one round to the next, so that all processes together make one."""
MAX_TENANTS = 100
"""Tenants that one statement reads at most."""

# Only memories make a tenant: where an erasure has removed all that a tenant had, no canary brings it back.
_READ = f"""
SELECT known.tenant_id, memory.id, max(memory.metadata ->> 'canary') AS token FROM usage AS known
LEFT JOIN long_term_memory AS memory
  ON memory.tenant_id = known.tenant_id AND memory.agent_id = '{CANARY_AGENT}'
  AND memory.metadata ->> 'canary' IS NOT NULL AND memory.forgotten_at IS NULL AND memory.superseded_at IS NULL
  AND (memory.expires_at IS NULL OR memory.expires_at > {NOW})
WHERE known.agent_id = '' AND known.tenant_id > ?1 ->> 'after' AND (known.memories > 0 OR known.bytes > 0)
  AND NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.tenant_id = known.tenant_id AND erasure.receipt IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM tenant_epochs AS placed
    WHERE placed.tenant_id = known.tenant_id AND (placed.carried OR placed.state = 'gone')
  )
GROUP BY known.tenant_id ORDER BY known.tenant_id LIMIT {MAX_TENANTS}
"""


def read(after: str) -> Statement:
    """Read the next tenants with memories, each with its canary where it has one, for ``read_canaries``."""
    return Statement.read(_READ, after=after)


def read_canaries(rows: Iterable[Row]) -> dict[str, Canary | None]:
    """Read the rows of ``read``: by tenant its canary; None where it has none."""
    return {
        str(row["tenant_id"]): None
        if row["token"] is None
        else Canary(str(row["tenant_id"]), str(row["id"]), str(row["token"]))
        for row in rows
    }
