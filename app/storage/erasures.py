"""Accepts and reads erasures of an agent or of a whole tenant, which the indexer carries out in chunks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.domain.memory import Scope, Tenant
from app.ports.database import NOW, Row
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement

_COLUMNS = "erasure.id, erasure.agent_id, erasure.accepted_at, erasure.memories, erasure.receipt"

_UNDER_WAY = """
FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id'
  AND (erasure.agent_id IS NULL OR erasure.agent_id = ?1 ->> 'agent_id') AND erasure.receipt IS NULL
"""
_ACCEPT = f"""
INSERT INTO erasure (id, tenant_id, agent_id, accepted_at, advanced_at)
SELECT ?1 ->> 'id', ?1 ->> 'tenant_id', ?1 ->> 'agent_id', {NOW}, {NOW} WHERE NOT EXISTS (SELECT 1 {_UNDER_WAY})
"""
_READ_RUNNING = f"SELECT {_COLUMNS} {_UNDER_WAY} ORDER BY erasure.agent_id IS NULL LIMIT 1"
_READ = f"""
SELECT {_COLUMNS} FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'
  AND (?1 ->> 'only_agent' IS NULL OR erasure.agent_id = ?1 ->> 'only_agent')
"""


@dataclass(frozen=True, slots=True)
class Erasure:
    """The state of an erasure: ``agent_id`` is None where it erases the tenant, ``receipt`` until it is finished."""

    id: str
    agent_id: str | None
    accepted_at: int
    memories: int
    receipt: Mapping[str, Any] | None

    @property
    def status(self) -> Literal["running", "done"]:
        """Whether the erasure is finished."""
        return "running" if self.receipt is None else "done"


@dataclass(frozen=True, slots=True)
class Erasures:
    """Statements over one tenant's erasures."""

    tenant_id: str

    def accept(self, erasure_id: str, agent_id: str | None) -> list[ScopedStatement]:
        """Begin an erasure unless one that covers it is under way; the second statement returns the one under way."""
        scope = Tenant(self.tenant_id) if agent_id is None else Scope(self.tenant_id, agent_id)
        return [ScopedStatement.write(scope, _ACCEPT, id=erasure_id), ScopedStatement.read(scope, _READ_RUNNING)]

    def under_way(self, agent_id: str | None) -> ScopedStatement:
        """Read the erasure under way that covers the agent, or with None the tenant; no row where there is none."""
        scope = Tenant(self.tenant_id) if agent_id is None else Scope(self.tenant_id, agent_id)
        return ScopedStatement.read(scope, _READ_RUNNING)

    def read(self, erasure_id: str, only_agent: str | None) -> ScopedStatement:
        """Read an erasure of the tenant; with ``only_agent``, only one of that agent."""
        return ScopedStatement.read(Tenant(self.tenant_id), _READ, id=erasure_id, only_agent=only_agent)


def erasure(row: Row) -> Erasure:
    """Read a row of an erasure."""
    return read_row(Erasure, row)
