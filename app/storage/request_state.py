"""What every store and recall learns in passing: whether the indexer is missed, and whether something was erased."""

from app.domain.memory import Scope
from app.ports.database import NOW, Statement
from app.storage.admission import DISABLED, VERDICT, Admission
from app.storage.embedding_configs import COLUMNS

INDEXER = "indexer"
"""Name of the lease that the indexer holds."""

_OVERDUE_MS = 20_000
"""An indexer that is alive has begun what is due by then."""

# One bit about all tenants, which no caller is shown: is anything overdue while nobody works?
_UNATTENDED = f"""
NOT EXISTS (SELECT 1 FROM lease WHERE lease.name = '{INDEXER}' AND lease.expires_at > {NOW})
AND (
  EXISTS (SELECT 1 FROM outbox WHERE outbox.due_at <= {NOW} - {_OVERDUE_MS})
  OR EXISTS (SELECT 1 FROM erasure WHERE erasure.receipt IS NULL AND erasure.advanced_at <= {NOW} - {_OVERDUE_MS})
)
"""

_WATCH = f"""
SELECT (SELECT count(*) + count(receipt) FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id') AS epoch,
  {_UNATTENDED} AS unattended, {COLUMNS}
"""
_WATCH_RECALL = f"{_WATCH}, {DISABLED} AS disabled"
_WATCH_STORE = f"{_WATCH}, {VERDICT}"


def watch(tenant_id: str) -> Statement:
    """Read the tenant's ``epoch``, which each erasure moves on twice, if work is ``unattended``, and what is in use."""
    return Statement(_WATCH, {"tenant_id": tenant_id})


def watch_recall(scope: Scope) -> Statement:
    """Read what ``watch`` does, and whether the agent's long-term memory is ``disabled``."""
    return Statement(_WATCH_RECALL, {"tenant_id": scope.tenant_id, "agent_id": scope.agent_id})


def watch_store(admission: Admission) -> Statement:
    """Read what ``watch`` does and the store's verdict, at the end of its run."""
    return Statement(_WATCH_STORE, admission.asked)
