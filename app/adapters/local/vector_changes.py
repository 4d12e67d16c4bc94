"""Counts the removals and the renewals of vectors of a scope, and keeps the latest, so that copies in memory follow.

A renewal changes what a filter compares, and not the vector. Triggers count: a process of any version does.
"""

from typing import Any, NamedTuple

import apsw

_KEPT = 1000
"""How many of a scope's latest changes are kept: a process that has missed more reads the whole scope again."""

_COUNT_AND_KEEP = f"""
  INSERT INTO local_vector_removals (tenant_id, agent_id, index_name, removals)
  VALUES (old.tenant_id, old.agent_id, old.index_name, 1)
  ON CONFLICT DO UPDATE SET removals = removals + 1;
  INSERT INTO local_vector_change (tenant_id, agent_id, index_name, change, number)
  SELECT tenant_id, agent_id, index_name, removals, old.number FROM local_vector_removals
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND index_name = old.index_name;
  DELETE FROM local_vector_change
  WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND index_name = old.index_name AND change <= (
    SELECT removals - {_KEPT} FROM local_vector_removals
    WHERE tenant_id = old.tenant_id AND agent_id = old.agent_id AND index_name = old.index_name
  );
"""
SCHEMA = (
    # removals: how many vectors were removed or renewed.
    """
    CREATE TABLE IF NOT EXISTS local_vector_removals (
      tenant_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      index_name TEXT NOT NULL,
      removals INTEGER NOT NULL,
      PRIMARY KEY (tenant_id, agent_id, index_name)
    ) STRICT, WITHOUT ROWID
    """,
    # change: what the count of the scope was then.
    """
    CREATE TABLE IF NOT EXISTS local_vector_change (
      tenant_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      index_name TEXT NOT NULL,
      change INTEGER NOT NULL,
      number INTEGER NOT NULL,
      PRIMARY KEY (tenant_id, agent_id, index_name, change)
    ) STRICT, WITHOUT ROWID
    """,
    f"CREATE TRIGGER IF NOT EXISTS local_vector_removal AFTER DELETE ON local_vector BEGIN {_COUNT_AND_KEEP} END",
    f"""
    CREATE TRIGGER IF NOT EXISTS local_vector_renewal AFTER UPDATE OF created_at, metadata ON local_vector
    WHEN old.created_at <> new.created_at OR old.metadata <> new.metadata BEGIN {_COUNT_AND_KEEP} END
    """,
)

_SCOPE = """
{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'
  AND {table}.index_name = ?1 ->> 'index_name'
"""
_COUNT = f"SELECT removals FROM local_vector_removals WHERE {_SCOPE.format(table='local_vector_removals')}"
_SINCE = f"""
SELECT changed.number, vector.number IS NULL, vector.created_at, vector.metadata
FROM local_vector_change AS changed LEFT JOIN local_vector AS vector ON vector.number = changed.number
WHERE {_SCOPE.format(table="changed")} AND changed.change > ?1 ->> 'changes'
"""


class Change(NamedTuple):
    """A vector that was removed or renewed, and what a filter compares of it now."""

    number: int
    is_removed: bool
    created_at: int
    metadata: str


def count(connection: apsw.Connection, argument: str) -> int:
    """Return how often vectors of the scope were removed or renewed."""
    return int(connection.execute(_COUNT, (argument,)).get or 0)


def since(connection: apsw.Connection, argument: str, missed: int) -> list[Change] | None:
    """Return the changes after ``$.changes``, which are ``missed``; None where they are no longer kept."""
    rows: list[tuple[Any, ...]] = connection.execute(_SINCE, (argument,)).fetchall()
    return [Change(*row) for row in rows] if len(rows) == missed else None
