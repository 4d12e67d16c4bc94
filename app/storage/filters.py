"""The recall filter as SQL, for any table that has ``created_at`` and ``metadata``."""

from app.domain.json_types import Json
from app.domain.query import Filter
from app.ports.database import NOW

# A value is equal when it is the same JSON value: 1 is 1.0, but neither is true, and "1" is a text.
# Keys are compared as they are, through json_each: no key can be mistaken for a path.
_METADATA = """
NOT EXISTS (
  SELECT 1 FROM json_each(?1, '$.where.metadata') AS wanted
  WHERE NOT EXISTS (
    SELECT 1 FROM json_each({table}.metadata) AS held
    WHERE held.key = wanted.key
      AND held.atom IS wanted.atom
      AND replace(held.type, 'integer', 'real') = replace(wanted.type, 'integer', 'real')
  )
)
"""


def condition(where: Filter, table: str) -> str:
    """Return a boolean SQL expression over ``table``, which reads ``$.where`` of the argument ``?1``."""
    parts = ["TRUE"]
    if where.created_after is not None:
        parts.append(f"{table}.created_at > json_extract(?1, '$.where.created_after')")
    if where.created_before is not None:
        parts.append(f"{table}.created_at < json_extract(?1, '$.where.created_before')")
    if where.metadata:
        parts.append(_METADATA.format(table=table))
    return " AND ".join(parts)


def kept_by_no_program(table: str) -> str:
    """Return a boolean SQL expression: a memory is no row that a program keeps for itself.

    ``candidates.sql`` says the same.
    """
    return f"""{table}.metadata -> '$."store.key"' IS NULL"""


def living(table: str, now: str = NOW) -> str:
    """Return a boolean SQL expression: a memory has not expired by ``now``, an SQL expression."""
    return f"({table}.expires_at IS NULL OR {table}.expires_at > {now})"


def of_living(where: Filter, table: str) -> str:
    """Return ``condition`` for a table of memories, of which those that have expired pass no filter."""
    return f"{living(table)} AND {condition(where, table)}"


def argument(where: Filter) -> Json:
    """Return what belongs under ``where`` in the argument."""
    return {
        "created_after": where.created_after,
        "created_before": where.created_before,
        "metadata": dict(where.metadata),
    }
