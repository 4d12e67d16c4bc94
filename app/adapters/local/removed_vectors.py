"""Remembers for a minute which vectors were removed: an upsert that was queued before and arrives only now is late.

The index and the database are one file with one clock, so that the revision of an upsert, which is when it was queued,
is compared with the time of the removal. A call that is later than a minute is taken for impossible everywhere
(``GRACE_MS``).
"""

import apsw

from app.ports.database import NOW
from app.storage.outbox import GRACE_MS

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS local_vector_removed (
      tenant_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      index_name TEXT NOT NULL,
      id TEXT NOT NULL,
      removed_at INTEGER NOT NULL,
      PRIMARY KEY (tenant_id, agent_id, index_name, id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS local_vector_removed_age ON local_vector_removed (removed_at)",
)

_FORGET = f"DELETE FROM local_vector_removed WHERE removed_at <= {NOW} - {GRACE_MS}"
_REMEMBER = f"""
INSERT INTO local_vector_removed (tenant_id, agent_id, index_name, id, removed_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'index_name', value, {NOW} FROM json_each(?1, '$.ids') WHERE TRUE
ON CONFLICT DO UPDATE SET removed_at = excluded.removed_at
"""
_IS_LATE = f"""
SELECT 1 FROM local_vector_removed
WHERE tenant_id = ?1 ->> 'tenant_id' AND agent_id = ?1 ->> 'agent_id' AND index_name = ?1 ->> 'index_name'
  AND id = ?1 ->> 'id' AND removed_at >= ?1 ->> 'revision' AND removed_at > {NOW} - {GRACE_MS}
"""


def remember(connection: apsw.Connection, argument: str) -> None:
    """Remember that the vectors of ``$.ids`` are removed now, and forget removals of more than a minute ago."""
    connection.execute(_FORGET)
    connection.execute(_REMEMBER, (argument,))


def is_late(connection: apsw.Connection, argument: str) -> bool:
    """Tell whether the vector was removed after the upsert in the argument was queued."""
    return connection.execute(_IS_LATE, (argument,)).fetchone() is not None
