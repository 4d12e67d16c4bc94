"""Conditions for the memories that a run, a session or a credential has taught, and the run that undoes those of a run.

Every prefix of that run of the database is harmless, as ``app.storage.deletions`` says of a deletion.
"""

from functools import partial

from app.domain.author import Author
from app.domain.claim import RELATION
from app.domain.memory import Tenant
from app.domain.undoing import Selected
from app.ports.database import NOW
from app.storage.ingestions import ENDED_BY_UNDO
from app.storage.learned_of import delete_proposals, with_learned
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.retold import hand_over, told_by_others
from app.storage.scoped import ScopedStatement
from app.storage.what_holds import shown

MAX_CHUNK = 500
"""How many memories one run takes back, and from how many others it takes the facts that were added to them."""

# With a + in the place of {by}, SQLite looks the memory up by another column, and only checks this condition.
_OF_RUN = "{by}({table}.metadata ->> '$.fact.learned_from_run_id') = ?1 ->> 'run_id'"
_UNDER_RUN = "{by}{table}.run_id = ?1 ->> 'run_id'"
# The memory's words were stored before, not by the run: the memory stays, without the fact that the run has added.
_ADDED = "{table}.later_keys IS NOT NULL AND json_type({table}.later_keys, '$.fact') IS NOT NULL"
_RUN = _OF_RUN.format(table="memory", by="")
_OWN = f"memory.tenant_id = ?1 ->> 'tenant_id' AND {_RUN}"
_WRITTEN_UNDER = f"memory.tenant_id = ?1 ->> 'tenant_id' AND {_UNDER_RUN.format(table='memory', by='')}"
# The memories that a run has taught first, as facts or by storing them; ``which`` parts those that others told too.
_FIRST = f"""
SELECT memory.id FROM long_term_memory AS memory INDEXED BY long_term_memory_taught
WHERE {_OWN} AND NOT ({_ADDED.format(table="memory")}) AND {{which}}
UNION
SELECT memory.id FROM long_term_memory AS memory INDEXED BY long_term_memory_of_run WHERE {_WRITTEN_UNDER} AND {{which}}
ORDER BY 1 LIMIT {MAX_CHUNK}
"""
_RETOLD = told_by_others(of_run=True)
_TENANT = "{by}{table}.tenant_id = ?1 ->> 'tenant_id'"
_OF_SESSION = "{by}{table}.agent_id = ?1 ->> 'agent_id' AND {by}{table}.session_id = ?1 ->> 'session_id'"
_OF_CREDENTIAL = "{by}{table}.written_by = ?1 ->> 'written_by'"


def taught(selected: Selected, table: str) -> str:
    """Return a boolean SQL expression: an undo of the selection deletes the memory, besides those learned of others.

    SQLite finds the memories by another condition, and only checks this one. ``arguments`` are its values.
    """
    if selected.run_id is not None:
        chosen = f"({_OF_RUN} AND NOT ({_ADDED}) OR {_UNDER_RUN})"
    else:
        chosen = _OF_CREDENTIAL if selected.session_id is None else _OF_SESSION
    return f"{_TENANT} AND {chosen}".format(table=table, by="+")


def found(selected: Selected) -> str:
    """Return ``taught`` of ``memory`` in a form by which SQLite finds memories: each part of a run's has an index."""
    if selected.run_id is not None:
        # SQLite would look up by a condition that both parts have in common alone: the tenant is written in two ways.
        under = _WRITTEN_UNDER.replace("?1 ->> 'tenant_id'", "?1 ->> '$.tenant_id'")
        return f"({_OWN} AND NOT ({_ADDED}) OR {under})".format(table="memory")
    chosen = _OF_CREDENTIAL if selected.session_id is None else _OF_SESSION
    return f"{_TENANT} AND {chosen}".format(table="memory", by="")


def arguments(selected: Selected) -> dict[str, str]:
    """Return the values that the conditions of this module need."""
    named = {
        "run_id": selected.run_id,
        "agent_id": selected.agent_id,
        "session_id": selected.session_id,
        "written_by": selected.credential_id,
    }
    return {name: value for name, value in named.items() if value is not None}


def was_fact(table: str) -> str:
    """Return a boolean SQL expression: a memory's metadata has a whole fact, which is then all that it states."""
    parts = ("subject", "predicate", "object")
    return " AND ".join(f"json_type({table}.metadata, '$.fact.{part}') IS 'text'" for part in parts)


def unclaim(changed: str, was: str) -> str:
    """Return the statement that deletes the keys of ``changed`` memories which were facts.

    ``was``: a boolean SQL expression of ``memory``, that it was a fact.
    """
    return f"""
DELETE FROM claim WHERE (tenant_id, agent_id, key, happened_at, memory_id) IN (
  SELECT old.tenant_id, old.agent_id, old.key, old.happened_at, old.memory_id
  FROM ({changed}) AS one CROSS JOIN long_term_memory AS memory
    CROSS JOIN claim AS old INDEXED BY claim_of_memory
  WHERE memory.id = one.id AND +memory.tenant_id = ?1 ->> 'tenant_id' AND {was}
    AND old.tenant_id = ?1 ->> 'tenant_id' AND old.agent_id = memory.agent_id AND old.memory_id = memory.id
    AND old.key NOT GLOB '{RELATION}*'
)
"""


def as_words(was: str) -> str:
    """Return the SET clause for memories that are facts no more: they wait for a reader, unless a program keeps them.

    ``was``: a boolean SQL expression of ``long_term_memory``, that it was a fact. The keys of these memories are
    deleted before (``unclaim``).
    """
    return f"""
  statements_read = iif({was}, iif({shown("long_term_memory")}, 0, 1), statements_read),
  superseded_at = iif({was}, (
    SELECT min(own.superseded_at) FROM claim AS own
    WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = long_term_memory.agent_id
      AND own.memory_id = long_term_memory.id AND own.whole
  ), superseded_at)
"""


# Each statement of a run selects the same memories, since only the last statement with this query deletes them.
_CHUNK = _FIRST.format(which=f"NOT {_RETOLD}")
_HANDED_OVER = _FIRST.format(which=_RETOLD)
CHANGED = f"""
SELECT memory.id FROM long_term_memory AS memory INDEXED BY long_term_memory_taught
WHERE {_OWN} AND {_ADDED.format(table="memory")} AND memory.run_id IS NOT ?1 ->> 'run_id' ORDER BY memory.id
"""
_DELETED = with_learned(_CHUNK)
_OF_CHUNK = f"+memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id IN ({_DELETED})"
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE {_OF_CHUNK}
{QUEUED_AGAIN}
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'undone', json_object('run_id', ?1 ->> 'run_id'), ?1 ->> 'now',
  ?1 ->> 'by'
FROM long_term_memory AS memory WHERE {_OF_CHUNK}
"""
_DELETE_PROPOSALS = delete_proposals(_DELETED)
_DELETE = f"DELETE FROM long_term_memory AS memory WHERE {_OF_CHUNK} RETURNING id"
_UNCLAIM = unclaim(f"{CHANGED} LIMIT {MAX_CHUNK}", was_fact("memory"))
_UNTELL = """
DELETE FROM fact_source
WHERE fact_source.tenant_id = ?1 ->> 'tenant_id' AND fact_source.source = 'run:' || (?1 ->> 'run_id')
"""
# A message that was taken under the run would become a memory afterwards. The passes of its ingestion end too.
_UNDER_WAY = """
SELECT ingestion.id FROM ingestion WHERE ingestion.tenant_id = ?1 ->> 'tenant_id'
  AND ingestion.run_id = ?1 ->> 'run_id' AND ingestion.finished_at IS NULL
"""
WAITING = f"""
SELECT message.id FROM message WHERE message.tenant_id = ?1 ->> 'tenant_id' AND message.ingestion_id IN ({_UNDER_WAY})
"""
"""The messages that an undo of a run takes back before they are memories."""
_DELETE_MESSAGES = f"""
DELETE FROM message WHERE message.tenant_id = ?1 ->> 'tenant_id' AND message.ingestion_id IN ({_UNDER_WAY})
RETURNING id
"""
_END_PASSES = f"""
UPDATE pass SET state = 'failed', failure = '{ENDED_BY_UNDO}'
WHERE pass.tenant_id = ?1 ->> 'tenant_id' AND pass.state = 'waiting' AND (pass.agent_id, pass.ingestion_id) IN (
  SELECT ingestion.agent_id, ingestion.id FROM ingestion
  WHERE ingestion.tenant_id = ?1 ->> 'tenant_id' AND ingestion.id IN ({_UNDER_WAY})
)
"""
_END_INGESTIONS = f"""
UPDATE ingestion SET finished_at = {NOW}, failure = '{ENDED_BY_UNDO}', learns = 0
WHERE ingestion.tenant_id = ?1 ->> 'tenant_id' AND ingestion.id IN ({_UNDER_WAY})
"""
_RESTORE = f"""
UPDATE long_term_memory
SET metadata = json_remove(metadata, '$.fact'), later_keys = json_remove(later_keys, '$.fact'),
  {as_words(was_fact("long_term_memory"))}
WHERE tenant_id = ?1 ->> 'tenant_id' AND id IN ({CHANGED} LIMIT {MAX_CHUNK})
RETURNING id
"""
KNOWN = f"""
SELECT EXISTS (
    SELECT 1 FROM agent_runs WHERE agent_runs.tenant_id = ?1 ->> 'tenant_id' AND agent_runs.id = ?1 ->> 'run_id'
  ) OR EXISTS (SELECT 1 FROM long_term_memory AS memory INDEXED BY long_term_memory_taught WHERE {_OWN})
  OR EXISTS (
    SELECT 1 FROM long_term_memory AS memory INDEXED BY long_term_memory_of_run WHERE {_WRITTEN_UNDER}
  ) AS known
"""
_IS_MORE = f"SELECT EXISTS ({_CHUNK}) OR EXISTS ({_HANDED_OVER}) OR EXISTS ({CHANGED}) AS more, {NOW} AS now"


def undo_run_chunk(tenant: Tenant, run_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run of the database that takes back the next chunk of the memories that a run has taught.

    Ingestions under the run that are not finished end with the first chunk. The first statement returns whether the run
    is ``known``, the second a row for each message that it deleted before the message was a memory, the last but two a
    row for each memory that it deleted, the last but one a row for each other memory that it changed, the last whether
    there is ``more``, and the database's time (``now``).
    """
    make = partial(ScopedStatement.write, tenant, run_id=run_id, by=author.credential_id, now=now)
    return [
        ScopedStatement.read(tenant, KNOWN, run_id=run_id),
        *map(make, (_DELETE_MESSAGES, _END_PASSES, _END_INGESTIONS, _UNTELL, *hand_over(_HANDED_OVER, of_run=True))),
        *map(make, (_DELETE_PROPOSALS, _QUEUE_DELETES, _AUDIT, _UNCLAIM, _DELETE, _RESTORE)),
        ScopedStatement.read(tenant, _IS_MORE, run_id=run_id),
    ]
