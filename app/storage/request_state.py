"""Reads the request state, which every run of a request reads: erasures, overdue work and the embedding configs."""

from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
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
  ) AS disabled, EXISTS (
    SELECT 1 FROM usage WHERE usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = ?1 ->> 'agent_id'
  ) OR EXISTS (
    SELECT 1 FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
  ) AS known, (SELECT indexed_to <> {ALL_INDEXED} FROM words_index) AS words_missing
FROM service_state AS state
"""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """The state of the service for all tenants, from the view ``service_state``.

    ``unattended``: work is overdue, and no indexer holds the lease; ``revoked_at``: when the last credential was
    revoked, of any tenant; ``shards``: the number of shards beside the first, where this is the first.
    """

    unattended: bool
    revoked_at: int | None
    any_memory: bool
    active: EmbeddingConfig | None
    shadow: EmbeddingConfig | None
    config_epoch: int | None
    building: str | None = None
    """The names of the indexes that are being made, with spaces between them."""
    shards: int = 0

    @property
    def configs(self) -> EmbeddingConfigs | None:
        """The embedding configs in use; None where none is active yet."""
        if self.active is None:
            return None
        building = frozenset((self.building or "").split())
        return EmbeddingConfigs(self.active, self.shadow, self.config_epoch or 0, building)

    @property
    def configs_of_memories(self) -> EmbeddingConfigs | None:
        """The embedding configs in use; None where there is no memory."""
        return self.configs if self.any_memory else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestState(ServiceState):
    """The state that every request reads in its run of the database: of the service, and of its tenant's erasures.

    ``epoch`` counts the beginnings and the ends of the tenant's erasures.
    """

    epoch: int


def read(tenant: Tenant) -> ScopedStatement:
    """Read the request state; ``request_state`` reads the row."""
    return ScopedStatement.read(tenant, _READ)


def read_for_recall(scope: Scope) -> ScopedStatement:
    """Read the request state, whether the agent's long-term memory is ``disabled``, and whether the agent is ``known``.

    An agent is known once something was stored for it, or it was set. ``words_missing``: the index of words does not
    have all memories.
    """
    return ScopedStatement.read(scope, _READ_FOR_RECALL)


def request_state(row: Row) -> RequestState:
    """Read the row of the request state."""
    return read_row(RequestState, row)
