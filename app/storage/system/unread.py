"""Statements about memories whose content was not read for what it states. They cross tenants."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.claim import MemoryType, Stated
from app.domain.json_types import Json
from app.domain.learned import Learned
from app.ports.database import Statement

_MAX_MEMORIES, _MAX_CHARACTERS = 100, 100_000
"""Limits of one batch; a single memory may be longer."""

RELEASE = [
    Statement.write("UPDATE long_term_memory SET statements_read = NULL WHERE statements_read = 0"),
    Statement.write("DELETE FROM reading"),
]
"""Has what waits for a reader read by the rules, where there is none; one that comes later reads everything anew."""
READ_BATCH = Statement.read(f"""
SELECT id, content, metadata, speaker_holds, type, learned FROM (
  SELECT memory.id, memory.content, memory.metadata, memory.speaker_holds, memory.type, memory.learned,
    sum(length(memory.content)) OVER (ORDER BY memory.id) - length(memory.content) AS before
  FROM (
    SELECT id, content, metadata, speaker_holds, type, learned FROM long_term_memory
    WHERE statements_read IS NULL ORDER BY id LIMIT {_MAX_MEMORIES}
  ) AS memory
) WHERE before < {_MAX_CHARACTERS}
""")
"""Reads the next memories that were not read, as rows of ``Unread``."""

_CLAIM = """
INSERT INTO claim (tenant_id, agent_id, key, happened_at, memory_id, value, whole)
SELECT memory.tenant_id, memory.agent_id, claimed.value ->> 'key', memory.happened_at, memory.id,
  claimed.value ->> 'value', claimed.value ->> 'whole'
FROM json_each(?1, '$.claims') AS stated JOIN json_each(stated.value) AS claimed
  CROSS JOIN long_term_memory AS memory
WHERE memory.id = stated.key AND memory.statements_read IS NULL
ON CONFLICT DO NOTHING
"""
_MARK = """
UPDATE long_term_memory SET statements_read = 1, type = coalesce(long_term_memory.type, read.value)
FROM json_each(?1, '$.types') AS read
WHERE long_term_memory.id = read.key AND (long_term_memory.type IS NULL OR statements_read IS NULL)
"""


@dataclass(frozen=True, slots=True)
class Unread:
    """A memory whose content was not read for what it states."""

    id: str
    content: str
    metadata: Mapping[str, Json]
    speaker_holds: bool
    """Whether its author may speak for whom it names, or for anybody where a model made it."""
    type: MemoryType | None
    learned: Learned | None


def write(stated: Mapping[str, Stated]) -> list[Statement]:
    """Add the claims of memories, by their ids, and mark them as read, with their types."""
    claims: dict[str, Json] = {
        id_: [{"key": one.key, "value": one.value, "whole": int(one.whole)} for one in each.claims]
        for id_, each in stated.items()
    }
    types: dict[str, Json] = {id_: each.type for id_, each in stated.items()}
    return [Statement.write(_CLAIM, claims=claims), Statement.write(_MARK, types=types)]
