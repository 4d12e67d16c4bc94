"""Statements that compare two indexes with the memories of the database. They cross tenants."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.memory import Scope
from app.ports.database import Statement
from app.storage.scoped import ScopedStatement

_SAMPLE = """
SELECT tenant_id, agent_id, id, content FROM long_term_memory ORDER BY random() LIMIT ?1 ->> 'limit'
"""
_EXISTING = """
SELECT memory.id FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.id IN (SELECT value FROM json_each(?1, '$.ids'))
"""


@dataclass(frozen=True, slots=True)
class SampledMemory:
    """A memory that was chosen at random."""

    tenant_id: str
    agent_id: str
    id: str
    content: str


def sample_memories(limit: int) -> Statement:
    """Choose memories at random, as rows of ``SampledMemory``."""
    return Statement.read(_SAMPLE, limit=limit)


def existing_ids(scope: Scope, ids: Sequence[str]) -> ScopedStatement:
    """Read which of the ids are memories of the scope."""
    return ScopedStatement.read(scope, _EXISTING, ids=list(ids))
