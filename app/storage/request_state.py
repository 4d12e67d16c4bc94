"""Reads the request state, which every run of a request reads: erasures, overdue work and the embedding configs."""

from dataclasses import dataclass

from app.domain.memory import Scope, Tenant
from app.ports.database import Row
from app.storage.damaged_words import ALL_INDEXED
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

# The view ``service_state`` is about all tenants; no caller is shown it.
_READ = """
SELECT (SELECT count(*) + count(receipt) FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id') AS epoch, state.*
FROM service_state AS state
"""
_READ_FOR_RECALL = f"""
SELECT (SELECT count(*) + count(receipt) FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id') AS epoch, state.*,
  EXISTS (
    SELECT 1 FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
      AND NOT agent.long_term_enabled
  ) AS disabled, (SELECT indexed_to <> {ALL_INDEXED} FROM words_index) AS words_missing
FROM service_state AS state
"""


@dataclass(frozen=True, slots=True)
class RequestState:
    """What every request learns from its run of the database, beside the configs in use (``embedding_configs``).

    ``epoch`` counts the beginnings and the ends of the tenant's erasures; ``unattended``: work is overdue, and no
    indexer holds the lease; ``revoked_at``: when the last credential was revoked, of any tenant; ``shards``: how many
    there are beside the first, where this is the first.
    """

    epoch: int
    unattended: bool
    revoked_at: int | None
    shards: int = 0


def read(tenant: Tenant) -> ScopedStatement:
    """Read the request state; ``request_state`` reads the row."""
    return ScopedStatement.read(tenant, _READ)


def read_for_recall(scope: Scope) -> ScopedStatement:
    """Read the request state, whether the agent's long-term memory is ``disabled``, and whether ``words_missing``.

    That is so while the index of words does not have all memories.
    """
    return ScopedStatement.read(scope, _READ_FOR_RECALL)


def request_state(row: Row) -> RequestState:
    """Read the row of the request state."""
    return read_row(RequestState, row)
