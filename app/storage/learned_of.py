"""Memories that a model has learned of others: their sources, and their deletion with any of these, wherever it is."""

from collections.abc import Sequence

from app.domain.memory import Scope
from app.storage.scoped import ScopedStatement

# A user's message has no speaker in its metadata, or names one itself.
_SOURCES = """
SELECT said.message_id AS id,
  iif(said.metadata ->> '$.speaker' IN ('assistant', 'system'), said.metadata ->> '$.speaker', 'user') AS role,
  said.session_id, said.happened_at AS said_at, said.id AS memory_id
FROM (
  SELECT own.message_id FROM long_term_memory AS own
  WHERE +own.tenant_id = ?1 ->> 'tenant_id' AND +own.agent_id = ?1 ->> 'agent_id' AND own.id = ?1 ->> 'id'
  UNION ALL
  SELECT source.message_id FROM memory_source AS source
  WHERE source.tenant_id = ?1 ->> 'tenant_id' AND source.agent_id = ?1 ->> 'agent_id'
    AND source.memory_id = ?1 ->> 'id'
) AS cited CROSS JOIN long_term_memory AS said
WHERE said.tenant_id = ?1 ->> 'tenant_id' AND said.agent_id = ?1 ->> 'agent_id' AND said.message_id = cited.message_id
ORDER BY said.happened_at, said.rowid
"""
# A learned memory that is superseded only with one of its messages says nothing of its other messages.
_OUTDATED = """
SELECT DISTINCT source.message_id
FROM json_each(?1 -> 'message_ids') AS cited CROSS JOIN memory_source AS source CROSS JOIN long_term_memory AS learned
WHERE source.tenant_id = ?1 ->> 'tenant_id' AND source.agent_id = ?1 ->> 'agent_id'
  AND source.message_id = cited.value
  AND learned.tenant_id = ?1 ->> 'tenant_id' AND learned.agent_id = ?1 ->> 'agent_id' AND learned.id = source.memory_id
  AND learned.superseded_at IS NOT NULL AND learned.superseded_with IS NULL AND learned.forgotten_at IS NULL
"""
# The + has SQLite look the rows up by their ids.
_OF_TENANT = "+{table}.tenant_id = ?1 ->> 'tenant_id'"


def sources(scope: Scope, memory_id: str) -> ScopedStatement:
    """Read the messages that a memory comes from, in the order in which they were said: rows of ``SourceMessage``."""
    return ScopedStatement.read(scope, _SOURCES, id=memory_id)


def outdated_sources(scope: Scope, message_ids: Sequence[str]) -> ScopedStatement:
    """Read those of these messages that are sources of a learned memory which later ones have superseded."""
    return ScopedStatement.read(scope, _OUTDATED, message_ids=list(message_ids))


def with_learned(deleted: str, *, of_all_tenants: bool = False) -> str:
    """Return a query for the ids of deleted memories, and of the memories learned of those that are messages.

    ``deleted`` is a query for the ``id`` of each deleted memory.
    """
    own = "TRUE" if of_all_tenants else f"{_OF_TENANT.format(table='said')} AND {_OF_TENANT.format(table='source')}"
    return f"""
WITH deleted(id) AS MATERIALIZED ({deleted})
SELECT deleted.id FROM deleted
UNION
SELECT source.memory_id FROM deleted CROSS JOIN long_term_memory AS said CROSS JOIN memory_source AS source
WHERE said.id = deleted.id AND said.message_id IS NOT NULL AND source.tenant_id = said.tenant_id
  AND source.agent_id = said.agent_id AND source.message_id = said.message_id AND {own}
"""


def delete_proposals(deleted: str, *, of_all_tenants: bool = False) -> str:
    """Return a statement that deletes the proposals that cite these memories, or became one of them.

    It comes before the statement that tells the indexer to delete the memories, so that the proposals go too where a
    run stops in between. No proposal is read where none of the memories is a message or was learned.
    """
    mine, proposed = ("TRUE" if of_all_tenants else _OF_TENANT.format(table=name) for name in ("gone", "proposed"))
    return f"""
DELETE FROM proposal WHERE (tenant_id, agent_id, ingestion_id, id) IN (
  WITH gone AS MATERIALIZED (
    SELECT gone.tenant_id, gone.agent_id, gone.id, gone.message_id FROM long_term_memory AS gone
    WHERE gone.id IN ({deleted}) AND (gone.message_id IS NOT NULL OR gone.learned IS NOT NULL) AND {mine}
  )
  SELECT proposed.tenant_id, proposed.agent_id, proposed.ingestion_id, proposed.id
  FROM (SELECT DISTINCT gone.tenant_id, gone.agent_id FROM gone) AS scope CROSS JOIN proposal AS proposed
  WHERE proposed.tenant_id = scope.tenant_id AND proposed.agent_id = scope.agent_id AND (
    proposed.memory_id IN (SELECT gone.id FROM gone)
    OR EXISTS (
      SELECT 1 FROM json_each(proposed.message_ids) AS cited
      WHERE cited.value IN (SELECT gone.message_id FROM gone WHERE gone.message_id IS NOT NULL)
    )
  ) AND {proposed}
)
"""
