"""Remembers for a minute which vectors were removed: an upsert that was queued before and arrives only now is late.

The index and the database are one file with one clock, so that the revision of an upsert, which is when it was queued,
is compared with the time of the removal. A call that is later than a minute is taken for impossible everywhere
(``GRACE_MS``).

A digest stands for scope and id: the table is cleared with the next removal only, and keeps no name till then.
"""

import hashlib
from collections.abc import Sequence

import apsw

from app.domain.json_types import to_json
from app.domain.memory import Scope
from app.ports.database import NOW
from app.storage.outbox import GRACE_MS

_SCHEMA = (
    # id: a digest of scope and id; tenant_id and agent_id are empty, where versions before had the names.
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
SELECT '', '', ?1 ->> 'index_name', value, {NOW} FROM json_each(?1, '$.digests') WHERE TRUE
ON CONFLICT DO UPDATE SET removed_at = excluded.removed_at
"""
_IS_LATE = f"""
SELECT 1 FROM local_vector_removed
WHERE tenant_id = '' AND agent_id = '' AND index_name = ?1 ->> 'index_name'
  AND id = ?1 ->> 'digest' AND removed_at >= ?1 ->> 'revision' AND removed_at > {NOW} - {GRACE_MS}
"""


def prepare(connection: apsw.Connection) -> None:
    """Create the table where it is absent, and forget removals of more than a minute ago."""
    for sql in (*_SCHEMA, _FORGET):
        connection.execute(sql)


def remember(connection: apsw.Connection, index_name: str, scope: Scope, ids: Sequence[str]) -> None:
    """Remember that vectors are removed now, and forget removals of more than a minute ago."""
    connection.execute(_FORGET)
    digests = [_digest(scope, id_) for id_ in ids]
    connection.execute(_REMEMBER, (to_json({"index_name": index_name, "digests": digests}),))


def is_late(connection: apsw.Connection, index_name: str, scope: Scope, id_: str, revision: int) -> bool:
    """Tell whether the vector was removed after its upsert was queued, which is its revision."""
    argument = to_json({"index_name": index_name, "digest": _digest(scope, id_), "revision": revision})
    return connection.execute(_IS_LATE, (argument,)).fetchone() is not None


def _digest(scope: Scope, id_: str) -> str:
    return hashlib.blake2b(to_json([scope.tenant_id, scope.agent_id, id_]).encode(), digest_size=16).hexdigest()
