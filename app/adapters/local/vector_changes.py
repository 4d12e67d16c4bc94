"""Counts the removals and the renewals of vectors of a scope, and keeps the latest, so that copies in memory follow.

A renewal changes what a filter compares, and not the vector. Triggers count: a process of any version does. Of a scope
without vectors nothing is kept, not even its names: it begins again above every count that was forgotten, so that the
count of a scope never falls, and copies of what it held before are seen to be older.
"""

from typing import Any, NamedTuple

import apsw

_KEPT = 1000
"""How many of a scope's latest changes are kept: a process that has missed more reads the whole scope again."""

_OF_OLD = "tenant_id = old.tenant_id AND agent_id = old.agent_id AND index_name = old.index_name"
_HAS_OTHERS = f"EXISTS (SELECT 1 FROM local_vector WHERE {_OF_OLD})"
_COUNT_AND_KEEP = f"""
  INSERT INTO local_vector_removals (tenant_id, agent_id, index_name, removals)
  SELECT old.tenant_id, old.agent_id, old.index_name, removals + 1 FROM local_vector_floor WHERE TRUE
  ON CONFLICT DO UPDATE SET removals = local_vector_removals.removals + 1;
  INSERT INTO local_vector_change (tenant_id, agent_id, index_name, change, number)
  SELECT tenant_id, agent_id, index_name, removals, old.number FROM local_vector_removals WHERE {_OF_OLD};
  DELETE FROM local_vector_change WHERE {_OF_OLD} AND change <= (
    SELECT removals - {_KEPT} FROM local_vector_removals WHERE {_OF_OLD}
  );
"""
_FORGET_SCOPE = f"""
  UPDATE local_vector_floor SET removals = 1 + max(
    removals, coalesce((SELECT counted.removals FROM local_vector_removals AS counted WHERE {_OF_OLD}), 0)
  );
  DELETE FROM local_vector_change WHERE {_OF_OLD};
  DELETE FROM local_vector_removals WHERE {_OF_OLD};
"""
_SCHEMA = (
    # removals: how many vectors were removed or renewed, on top of the floor of then.
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
    # One row. removals: the count of every scope that has none of its own, above all that were forgotten.
    "CREATE TABLE IF NOT EXISTS local_vector_floor (removals INTEGER NOT NULL) STRICT",
)
_TRIGGERS = (
    f"""
    CREATE TRIGGER IF NOT EXISTS local_vector_removal_of_several AFTER DELETE ON local_vector
    WHEN {_HAS_OTHERS} BEGIN {_COUNT_AND_KEEP} END
    """,
    # A version before, which counted the last vector of a scope too, makes its trigger where none has this name.
    f"""
    CREATE TRIGGER IF NOT EXISTS local_vector_removal AFTER DELETE ON local_vector
    WHEN NOT {_HAS_OTHERS} BEGIN {_FORGET_SCOPE} END
    """,
    f"""
    CREATE TRIGGER IF NOT EXISTS local_vector_renewal AFTER UPDATE OF created_at, metadata ON local_vector
    WHEN old.created_at <> new.created_at OR old.metadata <> new.metadata BEGIN {_COUNT_AND_KEEP} END
    """,
)
_WITHOUT_VECTORS = """
NOT EXISTS (
  SELECT 1 FROM local_vector AS vector WHERE vector.tenant_id = counted.tenant_id
  AND vector.agent_id = counted.agent_id AND vector.index_name = counted.index_name
)
"""

_SCOPE = """
{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id = ?1 ->> 'agent_id'
  AND {table}.index_name = ?1 ->> 'index_name'
"""
_OWN_COUNT = f"SELECT removals FROM local_vector_removals WHERE {_SCOPE.format(table='local_vector_removals')}"
_COUNT = f"SELECT coalesce(({_OWN_COUNT}), (SELECT removals FROM local_vector_floor))"
_SINCE = f"""
SELECT changed.number, vector.number IS NULL, vector.created_at, vector.metadata
FROM local_vector_change AS changed LEFT JOIN local_vector AS vector ON vector.number = changed.number
WHERE {_SCOPE.format(table="changed")} AND changed.change > ?1 ->> 'changes'
"""
_FIRST = f"""
SELECT min(number) FROM local_vector AS vector
WHERE {_SCOPE.format(table="vector")} AND NOT EXISTS ({_OWN_COUNT})
"""


class Change(NamedTuple):
    """A vector that was removed or renewed, and what a filter compares of it now."""

    number: int
    is_removed: bool
    created_at: int
    metadata: str


def prepare(connection: apsw.Connection) -> None:
    """Create the tables and triggers where they are absent; of a version before, forget the scopes without vectors."""
    for sql in _SCHEMA:
        connection.execute(sql)
    if not connection.execute("SELECT count(*) FROM local_vector_floor").get:
        connection.execute("DROP TRIGGER IF EXISTS local_vector_removal")
        connection.execute(
            "INSERT INTO local_vector_floor SELECT coalesce(max(removals), 0) FROM local_vector_removals"
        )
        for table in ("local_vector_change", "local_vector_removals"):
            connection.execute(f"DELETE FROM {table} AS counted WHERE {_WITHOUT_VECTORS}")
    for sql in _TRIGGERS:
        connection.execute(sql)


def count(connection: apsw.Connection, argument: str) -> int:
    """Return a number that grows whenever vectors of the scope were removed or renewed."""
    return int(connection.execute(_COUNT, (argument,)).get)


def since(connection: apsw.Connection, argument: str, missed: int, first: int) -> list[Change] | None:
    """Return the changes after ``$.changes``, which are ``missed``; None where they are no longer kept.

    ``first``: the lowest number of the copy. Where the scope begins with it and has no count of its own, nothing of it
    has changed: only the floor has risen.
    """
    rows: list[tuple[Any, ...]] = connection.execute(_SINCE, (argument,)).fetchall()
    if len(rows) == missed:
        return [Change(*row) for row in rows]
    return [] if connection.execute(_FIRST, (argument,)).get == first else None
