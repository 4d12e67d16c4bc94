"""The state of a vector index that is being made. It crosses tenants; no request imports it.

Vectorize finds a vector through a metadata index only if the vector was written when the metadata index was ready.
While an index is being made, no process sends vectors to it: ``service_state`` tells requests so, and the indexer
leaves out its rows. Vectors that an index has acknowledged meanwhile, because a call was under way, are queued again in
the end.
"""

from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json
from app.ports.database import NOW, Database, Statement

BUILDING = "(SELECT build.index_name FROM index_build AS build)"
"""An SQL subquery: the names of the indexes that are being made."""

_MAX_CHUNK = 2000
"""Rows that are queued again in one run."""

_BEGIN = f"""
INSERT INTO index_build (index_name, began_at) VALUES (?1 ->> 'index_name', {NOW}) ON CONFLICT DO NOTHING
"""
_END = "DELETE FROM index_build WHERE index_name = ?1 ->> 'index_name'"
_NEXT_EPOCH = Statement.write("UPDATE embedding_in_use SET epoch = epoch + 1")
_IS_BUILDING = "SELECT 1 FROM index_build WHERE index_name = ?1 ->> 'index_name'"
_KNOWN = Statement.read("SELECT 1 FROM sqlite_master WHERE name = 'index_build'")

_CHUNK = f"""
SELECT tenant_id, agent_id, id FROM outbox
WHERE (tenant_id, agent_id, id) > (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id')
  AND index_name = ?1 ->> 'index_name' AND operation = 'upsert'
ORDER BY tenant_id, agent_id, id LIMIT {_MAX_CHUNK}
"""
_LAST = f"SELECT tenant_id, agent_id, id FROM ({_CHUNK}) ORDER BY tenant_id DESC, agent_id DESC, id DESC LIMIT 1"
# A late acknowledgement of the earlier revision changes nothing. A dead letter stays a dead letter.
_QUEUE_AGAIN = f"""
UPDATE outbox SET acknowledged_at = NULL, confirmed_at = NULL, due_at = {NOW}, revision = max({NOW}, revision + 1)
WHERE (tenant_id, agent_id, id) IN ({_CHUNK}) AND index_name = ?1 ->> 'index_name' AND dead IS NULL
"""


async def is_building(database: Database, config: EmbeddingConfig) -> bool:
    """Return whether the config's index is being made, also by a command that was stopped.

    Raises:
        DatabaseUnavailable: the database does not answer.
    """
    (known,) = await database.run([_KNOWN])
    if not known:  # not migrated yet
        return False
    (rows,) = await database.run([read(config)])
    return bool(rows)


def read(config: EmbeddingConfig) -> Statement:
    """Read whether the config's index is being made: a row if it is."""
    return Statement.read(_IS_BUILDING, index_name=config.index_name)


async def begin(database: Database, config: EmbeddingConfig) -> None:
    """Let no process send vectors to the config's index from its next run on. The call may be repeated.

    Raises:
        DatabaseUnavailable: the database cannot be written.
    """
    await database.run([Statement.write(_BEGIN, repeatable=True, index_name=config.index_name), _NEXT_EPOCH])


async def end(database: Database, config: EmbeddingConfig) -> None:
    """Queue again the vectors that the index may have acknowledged, then let it be written. The call may be repeated.

    Raises:
        DatabaseUnavailable: the database cannot be written; the index counts as being made until this is repeated.
    """
    after: dict[str, Json] = {"tenant_id": "", "agent_id": "", "id": ""}
    while True:
        last, _ = await database.run(
            [
                Statement.read(_LAST, index_name=config.index_name, **after),
                Statement(_QUEUE_AGAIN, {"index_name": config.index_name, **after}, writes=True),
            ]
        )
        if not last:
            break
        after = dict(last[0])
    await database.run([Statement.write(_END, repeatable=True, index_name=config.index_name), _NEXT_EPOCH])
