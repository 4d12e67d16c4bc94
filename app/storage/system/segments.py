"""Statements that add segments to the memories that were stored without them. They cross tenants."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.ports.database import Statement

_MAX_MEMORIES, _MAX_CHARACTERS = 1000, 500_000
"""Limits of one batch; a single memory may be longer."""

READ_BATCH = Statement.read(f"""
SELECT id, content FROM (
  SELECT memory.id, memory.content,
    sum(length(memory.content)) OVER (ORDER BY memory.id) - length(memory.content) AS before
  FROM (
    SELECT id, content FROM long_term_memory WHERE segments IS NULL ORDER BY id LIMIT {_MAX_MEMORIES}
  ) AS memory
) WHERE before < {_MAX_CHARACTERS}
""")
"""Reads the next memories without segments, as rows of ``Unsegmented``."""

_WRITE = """
UPDATE long_term_memory SET segments = made.value FROM json_each(?1, '$.segments') AS made
WHERE long_term_memory.id = made.key AND long_term_memory.segments IS NULL
"""


@dataclass(frozen=True, slots=True)
class Unsegmented:
    """A memory without segments."""

    id: str
    content: str


def write(segments: Mapping[str, str]) -> Statement:
    """Add segments to memories, by their ids."""
    return Statement.write(_WRITE, segments=dict(segments))
