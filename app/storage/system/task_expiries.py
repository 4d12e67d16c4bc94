"""Statements about tasks that the service lets expire, though no caller asked for it. They cross tenants."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ports.database import NOW, Statement

_MAX_MEMORIES = 200
_WEEK_MS = 7 * 86_400_000
_APART_MS = 120_000
"""How long a store may take at most, and how far the clocks of replicas may differ."""
# An older version counted a week from its clock, in milliseconds, right before it stored. A moment that a caller gives
# is in whole seconds, and so is a moment that this version counts.
READ_BATCH = f"""
SELECT memory.id, memory.content, memory.expires_at FROM long_term_memory AS memory
WHERE memory.expires_at <= {NOW} + {_WEEK_MS + _APART_MS}
  AND (memory.expires_at, memory.id) > (?1 ->> 'after', ?1 ->> 'after_id')
  AND memory.type = 'task' AND memory.learned IS NULL AND memory.message_id IS NULL AND memory.expires_at % 1000 <> 0
  AND (
    abs(memory.expires_at - memory.created_at - {_WEEK_MS}) <= {_APART_MS}
    OR EXISTS (
      SELECT 1 FROM audit AS stored
      WHERE stored.tenant_id = memory.tenant_id AND stored.memory_id = memory.id
        AND abs(memory.expires_at - stored.created_at - {_WEEK_MS}) <= {_APART_MS}
    )
  )
ORDER BY memory.expires_at, memory.id LIMIT {_MAX_MEMORIES}
"""
_FREE = """
UPDATE long_term_memory SET expires_at = (
  SELECT long_term_memory.created_at + agent.retention_seconds * 1000 FROM agent
  WHERE agent.tenant_id = long_term_memory.tenant_id AND agent.agent_id = long_term_memory.agent_id
)
WHERE id IN (SELECT value FROM json_each(?1, '$.ids'))
"""


@dataclass(frozen=True, slots=True)
class ExpiringTask:
    """A task that ends a week after it was stored."""

    id: str
    content: str
    expires_at: int


def read_batch(after: ExpiringTask | None) -> Statement:
    """Read the next tasks behind ``after``, in the order in which they expire, as rows of ``ExpiringTask``."""
    begin = (-1, "") if after is None else (after.expires_at, after.id)
    return Statement.read(READ_BATCH, after=begin[0], after_id=begin[1])


def free(ids: Sequence[str]) -> Statement:
    """Let memories be kept as long as the other memories of their agents."""
    return Statement.write(_FREE, ids=list(ids))
