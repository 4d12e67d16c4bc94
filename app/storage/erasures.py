"""The erasure of an agent or of a whole tenant: asked for by a request, done by the indexer in chunks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domain.json_types import Json
from app.ports.database import NOW, Row, Statement
from app.storage.admission import ERASURE

_COLUMNS = "erasure.id, erasure.agent_id, erasure.accepted_at, erasure.memories, erasure.receipt"

_ACCEPT = f"""
INSERT INTO erasure (id, tenant_id, agent_id, accepted_at, advanced_at)
SELECT ?1 ->> 'id', ?1 ->> 'tenant_id', ?1 ->> 'agent_id', {NOW}, {NOW} WHERE NOT EXISTS (SELECT 1 {ERASURE})
"""
_READ_RUNNING = f"SELECT {_COLUMNS} {ERASURE} ORDER BY erasure.agent_id IS NULL LIMIT 1"
_READ = f"""
SELECT {_COLUMNS} FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'
  AND (?1 ->> 'only_agent' IS NULL OR erasure.agent_id = ?1 ->> 'only_agent')
"""


@dataclass(frozen=True, slots=True)
class Erasure:
    """How far an erasure is. ``agent_id`` is None where it is of the tenant; ``receipt`` is None until it is done."""

    id: str
    agent_id: str | None
    accepted_at: int
    memories: int
    receipt: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Erasures:
    """Statements over one tenant's erasures. The tenant is bound here, once."""

    tenant_id: str

    def accept(self, erasure_id: str, agent_id: str | None) -> list[Statement]:
        """Begin an erasure unless one that covers it is under way; the second statement returns the one that is."""
        argument: dict[str, Json] = {"tenant_id": self.tenant_id, "agent_id": agent_id, "id": erasure_id}
        return [Statement(_ACCEPT, argument, writes=True, repeatable=True), Statement(_READ_RUNNING, argument)]

    def read(self, erasure_id: str, only_agent: str | None) -> Statement:
        """Read an erasure of the tenant, and where ``only_agent`` is given of that agent."""
        return Statement(_READ, {"tenant_id": self.tenant_id, "id": erasure_id, "only_agent": only_agent})


def erasure(row: Row) -> Erasure:
    """Make an erasure of a row."""
    receipt = row["receipt"]
    return Erasure(
        id=str(row["id"]),
        agent_id=None if row["agent_id"] is None else str(row["agent_id"]),
        accepted_at=int(row["accepted_at"] or 0),
        memories=int(row["memories"] or 0),
        receipt=None if receipt is None else json.loads(str(receipt)),
    )
