"""Statements that write the turn state and the log of runs in working memory (``schema.sql``).

None of them refuses the run of the database: where there is no such run, or no room, nothing is written.
"""

from collections.abc import Mapping, Sequence

from app.domain import limits
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import NOW
from app.storage.scoped import ScopedStatement
from app.storage.tiers.runs import OF_WRITTEN_RUN

_ROW_BYTES = 264
"""The bytes that a row of a log counts beside its entry, with the longest name of an agent."""
NOTE = (
    "INSERT INTO run_log_note (tenant_id, agent_id, run_id, entries, ttl_ms, now, most_bytes, most_instances, overhead)"
)
ROOM = f"""{limits.WORKING_TTL_SECONDS * 1000}, {NOW}, {limits.LOG_BYTES}, {limits.MAX_WORKING_INSTANCES},
  {limits.LOG_OVERHEAD}"""
"""The columns of ``NOTE`` behind ``entries``."""

# Only calls that have no row yet are noted: so the statement comes before the one that writes the rows.
_NOTE_CALLS = f"""
{NOTE}
SELECT run.tenant_id, run.agent_id, run.id, (
  SELECT json_group_array(json_object('entry', json(sent.value -> 'entry'))) FROM json_each(?1, '$.noted') AS sent
  WHERE NOT EXISTS (
    SELECT 1 FROM tool_call_log AS call
    WHERE call.tenant_id = ?1 ->> 'tenant_id' AND call.run_id = ?1 ->> 'run_id' AND call.id = sent.value ->> 'id'
  )
), {ROOM}
FROM agent_runs AS run WHERE {OF_WRITTEN_RUN}
"""
_NOTE_STORED = f"""
{NOTE}
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'run_id', json_array(json_object('entry', json_object(
    'event', 'stored', 'memory_id', memory.id, 'known', json(iif(memory.id = ?1 ->> 'id', 'false', 'true'))))), {ROOM}
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'agent_id'
  AND memory.content_hash = ?1 ->> 'content_hash'
"""
_NOTE_LEARNED = f"""
{NOTE}
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'run_id', json_array(json_object('entry', json_object(
    'event', 'learned', 'memory_id', memory.id))), {ROOM}
FROM long_term_memory AS memory
WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = ?1 ->> 'learned_by' AND memory.id = ?1 ->> 'id'
  AND EXISTS (
    SELECT 1 FROM agent_runs AS run
    WHERE run.tenant_id = ?1 ->> 'tenant_id' AND run.id = ?1 ->> 'run_id'
      AND memory.agent_id IN (run.agent_id, run.agent_type)
  )
"""
_KEEP = f"""
INSERT INTO run_keep (tenant_id, run_id, ttl_ms, now, most_bytes, most_log_bytes, most_instances, overhead,
  most_result)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'run_id', {limits.WORKING_TTL_SECONDS * 1000}, {NOW}, {limits.WORKING_BYTES},
  {limits.LOG_BYTES}, {limits.MAX_WORKING_INSTANCES}, {limits.LOG_OVERHEAD}, {limits.RUN_RESULT_BYTES}
"""


def keep(tenant: Tenant, run_id: str) -> ScopedStatement:
    """Write state and log of a run that has begun or ended, unless they have that already."""
    return ScopedStatement.write(tenant, _KEEP, run_id=run_id)


def note_calls(owner: Scope | Tenant, run_id: str, noted: Mapping[str, Mapping[str, Json]]) -> ScopedStatement:
    """Note those tool calls of an owner's run, by their ids, that have no row yet."""
    sent: list[Json] = [{"id": id_, "entry": dict(entry)} for id_, entry in noted.items()]
    return ScopedStatement.write(owner, _NOTE_CALLS, run_id=run_id, noted=sent)


def note_stored(scope: Scope, run_id: str, memory_id: str, content_hash: str) -> ScopedStatement:
    """Note that a memory was stored: as a new one if the memory with this content has this id."""
    return ScopedStatement.write(scope, _NOTE_STORED, run_id=run_id, id=memory_id, content_hash=content_hash)


def note_learned(scope: Scope, run_id: str, memory_id: str, learned_by: str) -> ScopedStatement:
    """Note that an agent, or the agents of its type, have learned a fact from its run; of others nothing is noted."""
    return ScopedStatement.write(scope, _NOTE_LEARNED, run_id=run_id, id=memory_id, learned_by=learned_by)


def counted_bytes(entries: Sequence[str]) -> int:
    """Return the bytes that rows of these entries, as JSON, count in the quota (``schema.sql``)."""
    return sum(_ROW_BYTES + len(entry.encode()) for entry in entries)
