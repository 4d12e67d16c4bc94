"""The run that undoes one credential: its memories, messages and outcomes, and its changes of other memories.

The run revokes the credential first. Every prefix of it is harmless, as ``app.storage.deletions`` says of a deletion.
"""

from functools import partial

from app.domain import limits
from app.domain.author import Author
from app.domain.memory import Tenant
from app.ports.database import NOW
from app.storage.learned_of import delete_proposals, with_learned
from app.storage.outbox import GRACE_MS, QUEUED_AGAIN
from app.storage.retold import hand_over, told_by_others
from app.storage.scoped import ScopedStatement
from app.storage.taught import as_words, unclaim, was_fact

_MAX_CHUNK = 500
"""How many memories one run takes back, and from how many other memories it takes keys."""

REVOKED_AT = f"max({NOW}, 1 + coalesce((SELECT max(last.revoked_at) FROM revocation AS last), 0))"
"""When a credential that is revoked now counts as revoked: later than every other."""

# A tenant has a bounded number of revocations; the run's last statement reads whether the credential has one.
_REVOKE = f"""
INSERT INTO revocation (tenant_id, credential_id, issued_before, revoked_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'written_by', NULL, {REVOKED_AT}
WHERE (SELECT count(*) FROM revocation AS kept WHERE kept.tenant_id = ?1 ->> 'tenant_id') < {limits.MAX_REVOCATIONS}
ON CONFLICT (tenant_id, credential_id) DO NOTHING
"""
_REVOKED = """
EXISTS (
  SELECT 1 FROM revocation
  WHERE revocation.tenant_id = ?1 ->> 'tenant_id' AND revocation.credential_id = ?1 ->> 'written_by'
) AS revoked
"""
_RETOLD = told_by_others(of_run=False)
_OWN = "memory.tenant_id = ?1 ->> 'tenant_id' AND memory.written_by = ?1 ->> 'written_by'"
# Each statement of a run selects the same memories, since only the last statement with this query deletes them.
_CHUNK = f"""
SELECT memory.id FROM long_term_memory AS memory WHERE {_OWN} AND NOT {_RETOLD}
ORDER BY memory.created_at DESC, memory.id DESC LIMIT {_MAX_CHUNK}
"""
_HANDED_OVER = f"""
SELECT memory.id FROM long_term_memory AS memory WHERE {_OWN} AND {_RETOLD}
ORDER BY memory.created_at DESC, memory.id DESC LIMIT {_MAX_CHUNK}
"""
_DELETED = with_learned(_CHUNK)
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + {GRACE_MS}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config
WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id IN ({_DELETED})
{QUEUED_AGAIN}
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, memory_id, event, detail, created_at, written_by)
SELECT memory.tenant_id, memory.agent_id, memory.id, 'undone', json_object('of', ?1 ->> 'written_by'), ?1 ->> 'now',
  ?1 ->> 'by'
FROM long_term_memory AS memory WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id IN ({_DELETED})
"""
_DELETE = f"""
DELETE FROM long_term_memory AS memory WHERE +memory.tenant_id = ?1 ->> 'tenant_id' AND memory.id IN ({_DELETED})
RETURNING id
"""
_DELETE_PROPOSALS = delete_proposals(_DELETED)
# A merge patch with null takes a key away, whatever the key is called (RFC 7396).
_KEYS = """
(SELECT json_group_object(later.key, NULL) FROM json_each(later_keys) AS later WHERE later.value = ?1 ->> 'written_by')
"""
_HAS_KEYS = """
memory.tenant_id = ?1 ->> 'tenant_id' AND memory.later_keys IS NOT NULL
  AND memory.written_by IS NOT ?1 ->> 'written_by'
  AND EXISTS (SELECT 1 FROM json_each(memory.later_keys) AS later WHERE later.value = ?1 ->> 'written_by')
"""
_HAS_FORGOTTEN = """
memory.tenant_id = ?1 ->> 'tenant_id' AND memory.forgotten_by = ?1 ->> 'written_by'
  AND memory.written_by IS NOT ?1 ->> 'written_by'
"""
_CHANGED = f"""
SELECT memory.id FROM long_term_memory AS memory WHERE {_HAS_KEYS}
UNION SELECT memory.id FROM long_term_memory AS memory WHERE {_HAS_FORGOTTEN}
"""
_WAS_FACT = "{table}.later_keys ->> '$.fact' IS ?1 ->> 'written_by' AND {was}"
_UNCLAIM = unclaim(
    f"{_CHANGED} ORDER BY 1 LIMIT {_MAX_CHUNK}", _WAS_FACT.format(table="memory", was=was_fact("memory"))
)
_AS_WORDS = as_words(_WAS_FACT.format(table="long_term_memory", was=was_fact("long_term_memory")))
_RESTORE = f"""
UPDATE long_term_memory SET metadata = json_patch(metadata, {_KEYS}), later_keys = json_patch(later_keys, {_KEYS}),
  {_AS_WORDS},
  (forgotten_at, forgotten_by) = (
    SELECT forgotten_at, forgotten_by WHERE forgotten_by IS NOT ?1 ->> 'written_by'
  )
WHERE tenant_id = ?1 ->> 'tenant_id' AND id IN ({_CHANGED} ORDER BY 1 LIMIT {_MAX_CHUNK})
RETURNING id
"""
_UNDER_WAY = """
SELECT ingestion.id FROM ingestion WHERE ingestion.tenant_id = ?1 ->> 'tenant_id'
  AND ingestion.written_by = ?1 ->> 'written_by' AND ingestion.finished_at IS NULL
"""
_DELETE_MESSAGES = f"""
DELETE FROM message WHERE message.tenant_id = ?1 ->> 'tenant_id' AND message.ingestion_id IN ({_UNDER_WAY})
"""
_END_INGESTIONS = f"""
UPDATE ingestion SET finished_at = {NOW}, failure = 'unauthenticated'
WHERE ingestion.tenant_id = ?1 ->> 'tenant_id' AND ingestion.id IN ({_UNDER_WAY})
"""
# The tallies of the credential's outcomes go with the first chunk: from then on selections are made as if it had
# reported no outcome.
_OUTCOMES = f"""
SELECT outcome.workflow_id, outcome.run_id FROM workflow_outcome AS outcome INDEXED BY workflow_outcome_of_writer
WHERE outcome.tenant_id = ?1 ->> 'tenant_id' AND outcome.written_by = ?1 ->> 'written_by' LIMIT {_MAX_CHUNK}
"""
_AUDIT_OUTCOMES = f"""
INSERT INTO audit (tenant_id, event, detail, created_at, written_by)
SELECT ?1 ->> 'tenant_id', 'undone', json_object('of', ?1 ->> 'written_by', 'outcomes', chunk.outcomes), ?1 ->> 'now',
  ?1 ->> 'by'
FROM (SELECT count(*) AS outcomes FROM ({_OUTCOMES})) AS chunk WHERE chunk.outcomes > 0
"""
_UNCOUNT = """
DELETE FROM workflow_tally WHERE workflow_tally.tenant_id = ?1 ->> 'tenant_id'
  AND workflow_tally.written_by = ?1 ->> 'written_by'
"""
_DELETE_OUTCOMES = f"""
DELETE FROM workflow_outcome WHERE workflow_outcome.tenant_id = ?1 ->> 'tenant_id'
  AND (workflow_outcome.workflow_id, workflow_outcome.run_id) IN ({_OUTCOMES})
RETURNING run_id
"""
_UNTELL = """
DELETE FROM fact_source
WHERE fact_source.tenant_id = ?1 ->> 'tenant_id' AND fact_source.written_by = ?1 ->> 'written_by'
"""
_IS_MORE = f"""
SELECT EXISTS ({_CHUNK}) OR EXISTS ({_HANDED_OVER}) OR EXISTS ({_CHANGED}) OR EXISTS ({_OUTCOMES}) AS more,
  {NOW} AS now, {_REVOKED}
"""
_WRITTEN = with_learned(f"SELECT memory.id FROM long_term_memory AS memory WHERE {_OWN} AND NOT {_RETOLD}")
_COUNT = f"""
SELECT (SELECT count(*) FROM ({_WRITTEN})) AS memories,
  (SELECT count(*) FROM ({_CHANGED})) AS changed,
  (
    SELECT count(*) FROM workflow_outcome AS outcome
    WHERE outcome.tenant_id = ?1 ->> 'tenant_id' AND outcome.written_by = ?1 ->> 'written_by'
  ) AS outcomes
"""


def count(tenant: Tenant, credential_id: str) -> ScopedStatement:
    """Count the rows that undoing a credential would delete and change.

    These are the ``memories`` that it has written, with those learned of them, the other memories that it has
    ``changed`` or had forgotten, and the ``outcomes`` of workflows that it has reported.
    """
    return ScopedStatement.read(tenant, _COUNT, written_by=credential_id)


def undo_chunk(tenant: Tenant, credential_id: str, author: Author, *, now: int) -> list[ScopedStatement]:
    """Make the run that takes back the next chunk of a credential's work.

    The fourth statement returns a row for each outcome of a workflow that it deleted, the last but two a row for each
    memory that it deleted, the last but one a row for each other memory that it restored, the last whether there is
    ``more``, the database's time (``now``), and whether the credential is ``revoked``.
    """
    make = partial(ScopedStatement.write, tenant, written_by=credential_id, by=author.credential_id, now=now)
    return [
        *map(
            make,
            (
                *(_REVOKE, _AUDIT_OUTCOMES, _UNCOUNT, _DELETE_OUTCOMES, _DELETE_MESSAGES, _END_INGESTIONS),
                *(
                    _UNTELL,
                    *hand_over(_HANDED_OVER, of_run=False),
                    _DELETE_PROPOSALS,
                    _QUEUE_DELETES,
                    _AUDIT,
                    _UNCLAIM,
                    _DELETE,
                    _RESTORE,
                ),
            ),
        ),
        ScopedStatement.read(tenant, _IS_MORE, written_by=credential_id),
    ]
