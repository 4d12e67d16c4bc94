"""Statements that list what has taught a tenant lately: sessions, runs and credentials, each with its memories."""

from app.domain.canaries import CANARY_AGENT
from app.domain.memory import Tenant
from app.domain.undoing import Selected
from app.storage.scoped import ScopedStatement
from app.storage.taught import arguments, found

READ = 1_000
"""Of a tenant's memories the newest are looked at, however many it has."""
MAX_COUNTED = 500
"""Memories of one source that are counted: beyond this number the count is a lower bound."""
_LISTED = 20
_RUN = "coalesce(memory.metadata ->> '$.fact.learned_from_run_id', memory.run_id)"
_NEWEST = f"""
SELECT {{agent}} AS agent_id, {{id}} AS id, memory.created_at
FROM long_term_memory AS memory INDEXED BY long_term_memory_of_tenant
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id <> '{CANARY_AGENT}'
ORDER BY memory.created_at DESC, memory.id DESC LIMIT {READ}
"""
_OF_TENANT = "own.tenant_id = ?1 ->> 'tenant_id'"
_LIST = """
SELECT source.agent_id, source.id, source.written_at, (
  SELECT count(*) FROM ({own} LIMIT {counted})
) AS memories
FROM (
  SELECT newest.agent_id, newest.id, max(newest.created_at) AS written_at FROM ({newest}) AS newest
  WHERE newest.id IS NOT NULL GROUP BY newest.agent_id, newest.id ORDER BY written_at DESC, newest.id LIMIT {listed}
) AS source ORDER BY source.written_at DESC, source.id
"""
_OF_SESSION = f"""
SELECT 1 FROM long_term_memory AS own INDEXED BY long_term_memory_session
WHERE {_OF_TENANT} AND own.agent_id = source.agent_id AND own.session_id = source.id
"""
_OF_RUN = f"""
SELECT own.id FROM long_term_memory AS own INDEXED BY long_term_memory_of_run
WHERE {_OF_TENANT} AND own.run_id = source.id
UNION
SELECT own.id FROM long_term_memory AS own INDEXED BY long_term_memory_taught
WHERE {_OF_TENANT} AND (own.metadata ->> '$.fact.learned_from_run_id') = source.id
"""
_OF_CREDENTIAL = f"""
SELECT 1 FROM long_term_memory AS own INDEXED BY long_term_memory_writer
WHERE {_OF_TENANT} AND own.written_by = source.id
"""


def recent_sources(tenant: Tenant) -> list[ScopedStatement]:
    """Read the newest sessions, runs and credentials that have taught, in three statements of at most 20 rows each.

    A row has ``id``, ``agent_id`` (of a session; else NULL), ``memories``, at most ``MAX_COUNTED`` + 1, and when the
    newest of them was stored (``written_at``). Sources whose memories are not among the newest of the tenant are left
    out.
    """
    kinds = (
        ("memory.agent_id", "memory.session_id", _OF_SESSION),
        ("NULL", _RUN, _OF_RUN),
        ("NULL", "memory.written_by", _OF_CREDENTIAL),
    )
    return [
        ScopedStatement.read(
            tenant,
            _LIST.format(
                newest=_NEWEST.format(agent=agent, id=id_),
                own=own,
                counted=MAX_COUNTED + 1,
                listed=_LISTED,
            ),
        )
        for agent, id_, own in kinds
    ]


def count_of(tenant: Tenant, selected: Selected) -> ScopedStatement:
    """Read as ``memories`` how many memories a source has, at most ``MAX_COUNTED`` + 1."""
    own = f"SELECT 1 FROM long_term_memory AS memory WHERE {found(selected)} LIMIT {MAX_COUNTED + 1}"
    sql = f"SELECT count(*) AS memories FROM ({own})"
    return ScopedStatement.read(tenant, sql, **arguments(selected))
