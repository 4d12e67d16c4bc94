"""Forecasts of undos, computed from the claims that would remain. Nothing is changed, and the rows read are bounded."""

from collections.abc import Sequence

from app.domain import limits
from app.domain.memory import Tenant
from app.domain.undoing import Selected
from app.ports.database import NOW
from app.storage.retold import told_by_others
from app.storage.scoped import ScopedStatement
from app.storage.taught import CHANGED, KNOWN, WAITING, arguments, found, taught
from app.storage.what_holds import HORIZON, remembered

MAX_COUNTED = limits.MAX_UNDO_COUNTED
_MAX_CLAIMS = 5_000
_READ_OF_EACH = 1_200
"""Characters that are read of a memory that would hold again."""

# The facts that others have told too are an argument: SQLite limits the tables of a statement, and this one has no room
# for more.
_STAYS = "instr(?1 ->> 'retold', {table}.id)"
_GONE = """
WITH picked(id) AS MATERIALIZED (
  SELECT memory.id FROM long_term_memory AS memory WHERE {found} AND NOT {stays} LIMIT {most}
),
learned(id) AS MATERIALIZED (
  SELECT DISTINCT source.memory_id
  FROM picked CROSS JOIN long_term_memory AS said CROSS JOIN memory_source AS source
  WHERE said.id = picked.id AND +said.tenant_id = ?1 ->> 'tenant_id' AND said.message_id IS NOT NULL
    AND source.tenant_id = ?1 ->> 'tenant_id' AND source.agent_id = said.agent_id
    AND source.message_id = said.message_id LIMIT {most}
),
gone(id, through) AS MATERIALIZED (
  SELECT picked.id, 0 FROM picked UNION ALL SELECT learned.id, 1 FROM learned WHERE learned.id NOT IN picked
)
"""
_GOING = """
{gone}
SELECT memory.id, memory.agent_id, gone.through FROM gone CROSS JOIN long_term_memory AS memory
WHERE memory.id = gone.id AND +memory.tenant_id = ?1 ->> 'tenant_id' ORDER BY memory.id
"""
# This reads the claims of each key that a memory states which would go; the last key may be cut, and is left out then.
# The remaining claims make versions, as the triggers of schema.sql do: ``until`` is when the next version was said.
_HOLDING = """
{gone},
touched AS MATERIALIZED (
  SELECT DISTINCT stated.agent_id, stated.key
  FROM gone CROSS JOIN long_term_memory AS memory CROSS JOIN claim AS stated
  WHERE memory.id = gone.id AND +memory.tenant_id = ?1 ->> 'tenant_id' AND stated.tenant_id = ?1 ->> 'tenant_id'
    AND stated.agent_id = memory.agent_id AND stated.memory_id = memory.id
  ORDER BY 1, 2 LIMIT {claims}
),
chain AS MATERIALIZED (
  SELECT own.agent_id, own.key, own.happened_at, own.memory_id, own.value, own.whole, own.superseded_at
  FROM touched CROSS JOIN claim AS own
  WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = touched.agent_id AND own.key = touched.key
  LIMIT {claims}
),
cut AS MATERIALIZED (
  SELECT chain.agent_id, chain.key FROM chain WHERE (SELECT count(*) FROM chain) = {claims}
  ORDER BY 1 DESC, 2 DESC LIMIT 1
),
remaining AS MATERIALIZED (
  SELECT chain.*, chain.value IS NOT lag(chain.value) OVER (
    PARTITION BY chain.agent_id, chain.key ORDER BY chain.happened_at, chain.memory_id
  ) AS opens
  FROM chain
  WHERE (chain.agent_id, chain.key) NOT IN (SELECT cut.agent_id, cut.key FROM cut)
    AND NOT EXISTS (SELECT 1 FROM long_term_memory AS stating WHERE stating.id = chain.memory_id AND {stating})
    AND NOT EXISTS (
      SELECT 1 FROM memory_source AS source CROSS JOIN long_term_memory AS said
      WHERE source.tenant_id = ?1 ->> 'tenant_id' AND source.agent_id = chain.agent_id
        AND source.memory_id = chain.memory_id AND said.tenant_id = ?1 ->> 'tenant_id'
        AND said.agent_id = source.agent_id AND said.message_id = source.message_id AND {said}
    )
),
versions AS MATERIALIZED (
  SELECT remaining.*, sum(remaining.opens) OVER (
    PARTITION BY remaining.agent_id, remaining.key ORDER BY remaining.happened_at, remaining.memory_id
  ) AS version
  FROM remaining
),
openers AS MATERIALIZED (
  SELECT versions.agent_id, versions.key, versions.version, lead(versions.happened_at) OVER (
    PARTITION BY versions.agent_id, versions.key ORDER BY versions.version
  ) AS until
  FROM versions WHERE versions.opens
),
restored AS MATERIALIZED (
  SELECT versions.agent_id, versions.key, versions.memory_id
  FROM versions JOIN openers
    ON openers.agent_id = versions.agent_id AND openers.key = versions.key AND openers.version = versions.version
  WHERE versions.whole AND versions.superseded_at <= {horizon} AND coalesce(openers.until > {horizon}, TRUE)
),
stated AS MATERIALIZED (
  SELECT DISTINCT restored.agent_id, memory.id, memory.message_id, memory.learned IS NOT NULL AS learned
  FROM restored CROSS JOIN long_term_memory AS memory
  WHERE memory.id = restored.memory_id AND +memory.tenant_id = ?1 ->> 'tenant_id'
),
"""
# A memory with several whole claims, such as those of a reader's relations, may still be superseded through another.
_BY_OTHERS = """EXISTS (
  SELECT 1 FROM claim AS own
  WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = {table}.agent_id AND own.memory_id = {table}.id
    AND own.whole AND own.superseded_at <= {{horizon}}
    AND (own.agent_id, own.key, own.memory_id) NOT IN (
      SELECT restored.agent_id, restored.key, restored.memory_id FROM restored
    )
)
"""
# A learned memory follows each of its messages, and its own claims (schema.sql).
_FOLLOWING = (
    """
follows AS MATERIALIZED (
  SELECT stated.agent_id, stated.id FROM stated WHERE stated.learned
  UNION
  SELECT stated.agent_id, source.memory_id FROM stated CROSS JOIN memory_source AS source
  WHERE NOT stated.learned AND stated.message_id IS NOT NULL AND source.tenant_id = ?1 ->> 'tenant_id'
    AND source.agent_id = stated.agent_id AND source.message_id = stated.message_id
),
back(id) AS MATERIALIZED (
  SELECT stated.id FROM stated WHERE NOT stated.learned AND NOT """
    + _BY_OTHERS.format(table="stated")
    + """
  UNION
  SELECT follows.id FROM follows
  WHERE follows.id NOT IN (SELECT gone.id FROM gone) AND NOT """
    + _BY_OTHERS.format(table="follows")
    + """
    AND NOT EXISTS (
      SELECT 1 FROM memory_source AS source CROSS JOIN long_term_memory AS said
      WHERE source.tenant_id = ?1 ->> 'tenant_id' AND source.agent_id = follows.agent_id
        AND source.memory_id = follows.id AND said.tenant_id = ?1 ->> 'tenant_id'
        AND said.agent_id = source.agent_id AND said.message_id = source.message_id
        AND said.superseded_at <= {horizon} AND said.id NOT IN (SELECT stated.id FROM stated)
    )
)
SELECT memory.id AS memory_id, memory.agent_id,
  iif(row_number() OVER (ORDER BY memory.id) <= {named}, substr(memory.content, 1, {read}), '') AS content
FROM back CROSS JOIN long_term_memory AS memory
WHERE memory.id = back.id AND +memory.tenant_id = ?1 ->> 'tenant_id' AND memory.superseded_at <= {horizon}
  AND {remembered}
UNION ALL SELECT NULL, NULL, NULL FROM cut
ORDER BY 1
"""
)
_OF_RUN = f"""
SELECT (SELECT count(*) FROM ({CHANGED} LIMIT {MAX_COUNTED + 1})) AS changed,
  (SELECT count(*) FROM ({WAITING} LIMIT {MAX_COUNTED + 1})) AS messages, 0 AS outcomes,
  FALSE AS cut, {NOW} AS now,
  ({KNOWN}) AS known
"""
_OF_SESSION = f"""
SELECT 0 AS changed, (
  SELECT count(*) FROM (
    SELECT message.id FROM message
    WHERE message.tenant_id = ?1 ->> 'tenant_id' AND message.agent_id = ?1 ->> 'agent_id'
      AND message.session_id = ?1 ->> 'session_id' LIMIT {MAX_COUNTED + 1}
  )
) + (
  SELECT count(*) FROM (
    SELECT 1 FROM working_turn
    WHERE working_turn.tenant_id = ?1 ->> 'tenant_id' AND working_turn.agent_id = ?1 ->> 'agent_id'
      AND working_turn.instance = ?1 ->> 'session_id' LIMIT {MAX_COUNTED + 1}
  )
) AS messages, 0 AS outcomes, FALSE AS cut, {NOW} AS now, TRUE AS known
"""
_OF_CREDENTIAL = f"""
WITH later AS MATERIALIZED (
  SELECT memory.id, memory.later_keys, memory.written_by FROM long_term_memory AS memory
  WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.later_keys IS NOT NULL LIMIT {_MAX_CLAIMS}
)
SELECT (
  SELECT count(*) FROM (
    SELECT later.id FROM later WHERE later.written_by IS NOT ?1 ->> 'written_by'
      AND EXISTS (SELECT 1 FROM json_each(later.later_keys) AS brought WHERE brought.value = ?1 ->> 'written_by')
    UNION
    SELECT * FROM (
      SELECT memory.id FROM long_term_memory AS memory
      WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.forgotten_by = ?1 ->> 'written_by'
        AND memory.written_by IS NOT ?1 ->> 'written_by' LIMIT {MAX_COUNTED + 1}
    )
  )
) AS changed, 0 AS messages, (
  SELECT count(*) FROM (
    SELECT outcome.run_id FROM workflow_outcome AS outcome
    WHERE outcome.tenant_id = ?1 ->> 'tenant_id' AND outcome.written_by = ?1 ->> 'written_by' LIMIT {MAX_COUNTED + 1}
  )
) AS outcomes, (SELECT count(*) FROM later) = {_MAX_CLAIMS} AS cut, {NOW} AS now, TRUE AS known
"""


def told_too(tenant: Tenant, selected: Selected) -> ScopedStatement:
    """Read the ``id`` of each fact with a source beside the run, or the credential, of an undo: these facts stay.

    Where there are more memories than a forecast counts, some are not looked at.
    """
    others = told_by_others(of_run=selected.run_id is not None)
    sql = f"""
SELECT memory.id FROM (
  SELECT memory.id FROM long_term_memory AS memory WHERE {found(selected)} LIMIT {2 * MAX_COUNTED}
) AS one CROSS JOIN long_term_memory AS memory
WHERE memory.id = one.id AND +memory.tenant_id = ?1 ->> 'tenant_id' AND {others}
"""
    return ScopedStatement.read(tenant, sql, **arguments(selected))


def forecast(tenant: Tenant, selected: Selected, retold: Sequence[str] = ()) -> list[ScopedStatement]:
    """Read the effects of an undo of the selection, where the facts ``retold`` stay.

    The first statement returns one row: how many memories the undo would have ``changed``, how many ``messages`` and
    ``outcomes`` of workflows it would delete, whether the counts were ``cut``, the database's time (``now``), and
    whether the run is ``known``. The second returns a row for each memory that would go, at most twice
    ``MAX_COUNTED`` + 1: ``id``, ``agent_id``, and whether the memory goes ``through`` a message.
    The third returns a row for each memory that would hold again: ``memory_id``, ``agent_id``, and in the first rows
    the ``content``; a row without an id says that not all keys were read.
    """
    most = MAX_COUNTED + 1
    gone = _GONE.format(found=found(selected), stays=_STAYS.format(table="memory"), most=most)
    holding = (_HOLDING + _FOLLOWING).format(
        gone=gone,
        claims=_MAX_CLAIMS,
        stating=f"{taught(selected, 'stating')} AND NOT {_STAYS.format(table='stating')}",
        said=taught(selected, "said"),
        horizon=HORIZON,
        named=limits.MAX_UNDO_NAMED,
        read=_READ_OF_EACH,
        remembered=remembered("memory"),
    )
    if selected.run_id is not None:
        counts = _OF_RUN
    else:
        counts = _OF_SESSION if selected.session_id is not None else _OF_CREDENTIAL
    values = arguments(selected) | {"retold": " ".join(retold)}
    asked = (counts, _GOING.format(gone=gone), holding)
    # A statement that only reads begins with SELECT: on D1 nothing else tells that it does.
    return [ScopedStatement.read(tenant, f"SELECT * FROM ({sql})", **values) for sql in asked]
