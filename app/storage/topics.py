"""Reads the topics of learned memories, by which a language model may say what a query asks for."""

from app.domain.claim import TOPIC
from app.domain.memory import Scope
from app.storage.scoped import ScopedStatement

MAX_TOPICS = 200
"""The topics that are read at most, the newest."""
_MAX_SEEN = 1_000

# The topic of a forgotten memory is not read.
_TOPICS = f"""
SELECT substr(held.key, {len(TOPIC) + 1}) AS topic FROM (
  SELECT key, happened_at, memory_id FROM (
    SELECT key, happened_at, memory_id FROM claim INDEXED BY claim_that_holds
    WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND key >= '{TOPIC}' AND key < 'topic;'
      AND opens AND superseded_by IS NULL LIMIT {_MAX_SEEN}
  ) ORDER BY happened_at DESC LIMIT {MAX_TOPICS}
) AS held CROSS JOIN long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id' AND memory.id = held.memory_id
  AND memory.forgotten_at IS NULL
"""


def topics(scope: Scope) -> ScopedStatement:
    """Read the newest topics of a scope that hold, the newest first, as ``topic``."""
    return ScopedStatement.read(scope, _TOPICS)
