"""Statements about memories whose explicit statements were not read yet. They cross tenants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.claim import RELATION, MemoryType, Stated
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.ports.database import Statement

_MAX_MEMORIES, _MAX_CHARACTERS = 100, 100_000
"""Limits of one batch; a single memory may be longer."""

_KEYS = f"""
(
  SELECT json_group_array(own.key) FROM claim AS own INDEXED BY claim_of_memory
  WHERE own.tenant_id = memory.tenant_id AND own.agent_id = memory.agent_id AND own.memory_id = memory.id
    AND own.key NOT GLOB '{RELATION}*'
)
"""
READ_BATCH = Statement.read(f"""
SELECT id, content, metadata, speaker_holds, speakers, type, learned, keys FROM (
  SELECT memory.*, {_KEYS} AS keys,
    sum(length(memory.content)) OVER (ORDER BY memory.id) - length(memory.content) AS before
  FROM (
    SELECT id, tenant_id, agent_id, content, metadata, speaker_holds, speakers, type, learned FROM long_term_memory
    WHERE statements_read IS NULL ORDER BY id LIMIT {_MAX_MEMORIES}
  ) AS memory
) WHERE before < {_MAX_CHARACTERS}
""")
"""Reads the next memories that were not read, as rows of ``Unread``."""

# A memory that states nothing explicitly keeps the claims of older versions' rules, until a reader has read it.
_UNCLAIM = f"""
DELETE FROM claim WHERE (tenant_id, agent_id, key, happened_at, memory_id) IN (
  SELECT old.tenant_id, old.agent_id, old.key, old.happened_at, old.memory_id
  FROM json_each(?1, '$.claims') AS stated CROSS JOIN long_term_memory AS memory
    CROSS JOIN claim AS old INDEXED BY claim_of_memory
  WHERE json_array_length(stated.value) AND memory.id = stated.key AND memory.statements_read IS NULL
    AND old.tenant_id = memory.tenant_id AND old.agent_id = memory.agent_id AND old.memory_id = memory.id
    AND old.key NOT GLOB '{RELATION}*'
    AND old.key NOT IN (SELECT claimed.value ->> 'key' FROM json_each(stated.value) AS claimed)
)
"""
_CLAIM = """
INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
SELECT memory.tenant_id, memory.agent_id, claimed.value ->> 'key', memory.happened_at, memory.id,
  claimed.value ->> 'value', claimed.value ->> 'whole'
FROM json_each(?1, '$.claims') AS stated JOIN json_each(stated.value) AS claimed
  CROSS JOIN long_term_memory AS memory
WHERE memory.id = stated.key AND memory.statements_read IS NULL
ON CONFLICT DO NOTHING
"""
OWN_END = """
(
  SELECT min(own.superseded_at) FROM claim AS own
  WHERE own.tenant_id = long_term_memory.tenant_id AND own.agent_id = long_term_memory.agent_id
    AND own.memory_id = long_term_memory.id AND own.whole
)
"""
"""The moment at which the first claim that is the whole of a memory was superseded; NULL: no such claim was."""
_RESTORE = f"""
UPDATE long_term_memory SET superseded_at = {OWN_END}
WHERE id IN (SELECT stated.key FROM json_each(?1, '$.claims') AS stated WHERE json_array_length(stated.value))
  AND superseded_at IS NOT NULL AND superseded_with IS NULL AND superseded_at IS NOT {OWN_END}
"""
# A claim that is inserted lets its memory wait for a reader (schema.sql); a memory that states nothing has no claim.
_MARK = """
UPDATE long_term_memory SET statements_read = read.value ->> 'read',
  type = coalesce(long_term_memory.type, read.value ->> 'type')
FROM json_each(?1, '$.read') AS read WHERE long_term_memory.id = read.key
"""


@dataclass(frozen=True, slots=True)
class Unread:
    """A memory whose explicit statements were not read yet."""

    id: str
    content: str
    metadata: Mapping[str, Json]
    speaker_holds: bool
    """Whether its author may speak for the persons that it names, or for anybody where a model made it."""
    speakers: list[str] | None
    """The speakers for whom alone its author may speak; None: for anybody."""
    type: MemoryType | None
    learned: Learned | None
    keys: Sequence[str]
    """The keys of its claims, as an older version wrote them."""


def write(stated: Mapping[str, Stated]) -> list[Statement]:
    """Write the statements of memories, by their ids, and whether each waits for a reader; a type that is set stays."""
    claims: dict[str, Json] = {
        id_: [{"key": one.key, "value": one.value, "whole": int(one.whole)} for one in each.claims]
        for id_, each in stated.items()
    }
    read: dict[str, Json] = {id_: {"type": each.type, "read": 0 if each.waits else 1} for id_, each in stated.items()}
    return [
        Statement.write(_UNCLAIM, claims=claims),
        Statement.write(_CLAIM, claims=claims),
        Statement.write(_RESTORE, claims=claims),
        Statement.write(_MARK, read=read),
    ]
