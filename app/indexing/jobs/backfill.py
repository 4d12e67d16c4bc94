"""Makes the segments of memories that were stored before there were any. Crosses tenants; no request imports it."""

from app.domain.words import segments
from app.ports.database import Database, Statement

_MEMORIES, _CHARACTERS = 1000, 500_000
"""At once, at most; one memory alone may be longer."""

_READ = Statement(f"""
SELECT id, content FROM (
  SELECT memory.id, memory.content,
    sum(length(memory.content)) OVER (ORDER BY memory.id) - length(memory.content) AS before
  FROM (
    SELECT id, content FROM long_term_memory WHERE segments IS NULL ORDER BY id LIMIT {_MEMORIES}
  ) AS memory
) WHERE before < {_CHARACTERS}
""")
_WRITE = """
UPDATE long_term_memory SET segments = made.value FROM json_each(?1) AS made
WHERE long_term_memory.id = made.key AND long_term_memory.segments IS NULL
"""


async def segment(database: Database) -> None:
    """Make what is missing, in small batches; each is whole, so whoever stops is gone on from.

    Raises:
        Unavailable: the database does not answer.
    """
    (rows,) = await database.run([_READ])
    while rows:
        made = {str(row["id"]): segments(str(row["content"])) for row in rows}
        _, rows = await database.run([Statement(_WRITE, made, writes=True, repeatable=True), _READ])
