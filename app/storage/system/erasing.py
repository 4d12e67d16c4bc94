"""Statements that erase an agent or a tenant chunk by chunk. They cross tenants; no request imports them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json, to_json
from app.ports.database import NOW, Row, Statement
from app.storage.embedding_configs import READ_ALL, read_all
from app.storage.erasures import KINDS, LAST_AGENT, OF_SCOPE, scope_of
from app.storage.learned_of import with_learned
from app.storage.lease_rule import void
from app.storage.outbox import QUEUED_AGAIN, RESET
from app.storage.rows import read_row
from app.storage.tiers.tables import TIER_TABLES, TierTable

_MEMORY, _OUTBOX, _IDEMPOTENCY = (OF_SCOPE.format(table=table) for table in ("memory", "outbox", "idempotency"))

# Each statement of a run selects the same memories: only the last statement that uses this query changes its rows.
_CHUNK = with_learned(f"""
SELECT memory.id FROM long_term_memory AS memory WHERE {_MEMORY}
ORDER BY memory.agent_id, memory.created_at DESC, memory.rowid LIMIT ?1 ->> 'limit'
""")
_ERASURE = "erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'"

_COUNT = f"""
WITH chunk AS MATERIALIZED ({_CHUNK}),
queued AS (
  SELECT count(*) AS outbox_rows, count(outbox.dead) AS dead_letters FROM outbox
  WHERE {_OUTBOX} AND outbox.operation = 'upsert' AND (
    outbox.id IN (SELECT id FROM chunk)
    OR NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = outbox.id)
  )
)
UPDATE erasure SET advanced_at = {NOW},
  memories = memories + (SELECT count(*) FROM chunk),
  outbox_rows = outbox_rows + (SELECT queued.outbox_rows FROM queued),
  dead_letters = dead_letters + (SELECT queued.dead_letters FROM queued),
  idempotency_keys = idempotency_keys + (SELECT count(*) FROM idempotency WHERE {_IDEMPOTENCY}),
  messages = messages + (SELECT count(*) FROM message WHERE {OF_SCOPE.format(table="message")})
WHERE {_ERASURE}
"""
_UNQUEUE_UPSERTS = f"""
UPDATE outbox SET operation = 'delete', vector = NULL, revision = max({NOW}, outbox.revision + 1),
  due_at = {NOW} + ?1 ->> 'grace_ms', {RESET}
WHERE {_OUTBOX} AND outbox.operation = 'upsert'
  AND NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = outbox.id)
"""
_QUEUE_DELETES = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {NOW}, {NOW} + ?1 ->> 'grace_ms'
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE memory.id IN ({_CHUNK})
{QUEUED_AGAIN}
"""
_DELETE_MEMORIES = f"DELETE FROM long_term_memory AS memory WHERE memory.id IN ({_CHUNK})"
_DELETE_KEYS = f"DELETE FROM idempotency WHERE {_IDEMPOTENCY}"
_DELETE_SETTINGS = f"DELETE FROM agent WHERE {OF_SCOPE.format(table='agent')}"
_DELETE_MESSAGES = f"DELETE FROM message WHERE {OF_SCOPE.format(table='message')}"
_DELETE_INGESTIONS = f"DELETE FROM ingestion WHERE {OF_SCOPE.format(table='ingestion')}"
_DELETE_PROFILES = f"DELETE FROM profile WHERE {OF_SCOPE.format(table='profile')}"
_OF_WHOLE_TENANT = f"""
tenant_id = ?1 ->> 'tenant_id' AND ?1 ->> 'first_agent' = '' AND ?1 ->> 'last_agent' = '{LAST_AGENT}'
"""
_DELETE_NAMESPACES = f"DELETE FROM namespace WHERE {_OF_WHOLE_TENANT}"
_DELETE_SPEND = f"DELETE FROM model_spend WHERE {_OF_WHOLE_TENANT}"
# A credential holds on until it is revoked, and its row tells of it; the names of people go.
_FORGET_SPEAKERS = f"UPDATE credential SET speakers = '[]' WHERE {_OF_WHOLE_TENANT} AND speakers IS NOT NULL"
# A row of counts that the deletion has brought to 0 still names an agent. An operator's limits (quota) stay.
_DELETE_USAGE = f"""
DELETE FROM usage WHERE {OF_SCOPE.format(table="usage")} AND usage.memories <= 0 AND usage.bytes <= 0
"""
# Rows that refer to rows of another table are deleted before these.
_TIERS: Mapping[str, TierTable] = {tier.kind: tier for tier in reversed(TIER_TABLES)}
_OF_TIERS = " ".join(
    f"WHEN EXISTS (SELECT 1 FROM {tier.table} WHERE {scope_of(tier)}) THEN '{kind}'" for kind, tier in _TIERS.items()
)
_TIER_CHUNK = "SELECT {columns} FROM {table} AS held WHERE {scope} LIMIT ?1 ->> 'limit'"
_COUNT_TIER = f"""
UPDATE erasure SET advanced_at = {NOW},
  tiers = json_set(tiers, '$.{{kind}}', coalesce(tiers ->> '$.{{kind}}', 0) + (SELECT count(*) FROM ({{chunk}})))
WHERE {_ERASURE}
"""
_PROGRESS = f"""
SELECT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE {_MEMORY}) AS more,
  EXISTS (SELECT 1 FROM outbox WHERE {_OUTBOX}) OR EXISTS (SELECT 1 FROM index_build) AS queued,
  CASE {_OF_TIERS} END AS tier, erasure.tiers,
  erasure.memories, erasure.outbox_rows, erasure.dead_letters, erasure.idempotency_keys,
  erasure.messages, {NOW} AS now
FROM erasure WHERE {_ERASURE}
"""

_MAX_ERASURES = 8
"""Erasures that one round of the indexer serves at most."""
_LOOKED_AT_MS = 60_000
_OF_ERASURE = f"""
{{table}}.tenant_id = erasure.tenant_id
  AND {{agent}} BETWEEN coalesce(erasure.agent_id, '') AND coalesce(erasure.agent_id, '{LAST_AGENT}')
"""


def _has_rows(tier: TierTable) -> str:
    whose = _OF_ERASURE.format(agent=f"{tier.table}.agent_id", table=tier.table)
    if tier.names_agent:
        whose = _OF_ERASURE.format(agent=f"coalesce({tier.table}.agent_id, '')", table=tier.table)
    elif not tier.of_agent:
        whose = f"{tier.table}.tenant_id = erasure.tenant_id AND erasure.agent_id IS NULL"
    return f"OR EXISTS (SELECT 1 FROM {tier.table} WHERE {whose})"


# Tenants take turns, and so do the erasures of one tenant. An erasure whose rows are gone waits for its rows of the
# outbox, and still gets a turn once a minute.
READY = Statement.read(f"""
SELECT id, tenant_id, agent_id FROM (
  SELECT erasure.id, erasure.tenant_id, erasure.agent_id, erasure.advanced_at,
    row_number() OVER (PARTITION BY erasure.tenant_id ORDER BY erasure.advanced_at, erasure.id) AS turn
  FROM erasure
  WHERE erasure.receipt IS NULL AND (
    erasure.advanced_at = erasure.accepted_at OR erasure.advanced_at <= {NOW} - {_LOOKED_AT_MS}
    OR EXISTS (
      SELECT 1 FROM long_term_memory AS memory WHERE {_OF_ERASURE.format(agent="memory.agent_id", table="memory")}
    )
    OR NOT EXISTS (SELECT 1 FROM outbox WHERE {_OF_ERASURE.format(agent="outbox.agent_id", table="outbox")})
    {" ".join(map(_has_rows, TIER_TABLES))}
  )
)
ORDER BY turn, advanced_at, id LIMIT {_MAX_ERASURES}
""")
"""Reads the erasures whose turn has come, in the order in which they are served."""

DATE_ANEW = Statement.write(f"""
UPDATE erasure SET advanced_at = {NOW} - {_LOOKED_AT_MS}
WHERE erasure.receipt IS NULL AND {void("erasure.advanced_at", 0)}
""")
"""Lets erasures go on whose last step is dated by a database's clock that was ahead."""

_QUEUE_STRAYS = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT ?1 ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', ?1 ->> 'index_name', 'delete', {NOW}, {NOW}
FROM json_each(?1, '$.strays') WHERE TRUE
ON CONFLICT DO NOTHING
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, event, detail, created_at)
SELECT erasure.tenant_id, erasure.agent_id, 'erased', ?1 ->> 'receipt', {NOW} FROM erasure
WHERE {_ERASURE} AND erasure.receipt IS NULL
"""
_FINISH = f"UPDATE erasure SET receipt = ?1 ->> 'receipt' WHERE {_ERASURE} AND erasure.receipt IS NULL"


@dataclass(frozen=True, slots=True)
class RunningErasure:
    """An erasure under way. ``agent_id`` is None where it erases the whole tenant."""

    id: str
    tenant_id: str
    agent_id: str | None

    @property
    def argument(self) -> dict[str, Json]:
        """Return the values of the statements of this erasure."""
        return {
            "id": self.id,
            "tenant_id": self.tenant_id,
            "first_agent": "" if self.agent_id is None else self.agent_id,
            "last_agent": LAST_AGENT if self.agent_id is None else self.agent_id,
        }


@dataclass(frozen=True, slots=True)
class ErasureProgress:
    """The rows that are left of an erasure, and the number of rows that it has erased so far.

    ``more``: memories are left. ``queued``: the outbox has rows of the scope, or an index is being made, which cannot
    be searched. ``tier``: the kind of tier rows to erase next; None: no tier has rows. ``tiers``: the number of erased
    tier rows, by kind. ``now``: the database's time.
    """

    more: bool
    queued: bool
    tier: str | None
    tiers: Mapping[str, int]
    memories: int
    outbox_rows: int
    dead_letters: int
    idempotency_keys: int
    messages: int
    now: int

    @property
    def counts(self) -> dict[str, int]:
        """Return how many rows were erased so far, by the names of the receipt."""
        core = ("memories", "outbox_rows", "dead_letters", "idempotency_keys", "messages")
        counts = {kind: getattr(self, kind) for kind in core}
        return dict.fromkeys(KINDS, 0) | {kind: n for kind, n in self.tiers.items() if kind in KINDS} | counts


def erase_chunk(erasure: RunningErasure, limit: int, *, grace_ms: int) -> list[Statement]:
    """Erase the next memories of an erasure; ``read_progress`` reads the results.

    Their vectors are removed once ``grace_ms`` have passed (``VectorIndex.removal_grace_ms``).
    """
    argument = {**erasure.argument, "limit": limit, "grace_ms": grace_ms}
    changes = (
        _COUNT,
        _UNQUEUE_UPSERTS,
        _QUEUE_DELETES,
        _DELETE_MEMORIES,
        _DELETE_KEYS,
        _DELETE_SETTINGS,
        _DELETE_MESSAGES,
        _DELETE_INGESTIONS,
        _DELETE_USAGE,
        _DELETE_PROFILES,
        _DELETE_NAMESPACES,
        _DELETE_SPEND,
        _FORGET_SPEAKERS,
    )
    return [
        *(Statement.write(sql, repeatable=True, **argument) for sql in changes),
        Statement.read(_PROGRESS, **argument),
        READ_ALL,
    ]


def erase_tier(erasure: RunningErasure, kind: str, limit: int) -> list[Statement]:
    """Erase the next rows of one table of a tier (``ErasureProgress.tier``); ``read_progress`` reads the results."""
    tier = _TIERS[kind]
    scope = scope_of(tier, "held")
    key = ", ".join(tier.key or ("tenant_id",))
    chunk = _TIER_CHUNK.format(columns=key, table=tier.table, scope=scope)
    delete = f"DELETE FROM {tier.table} WHERE tenant_id = ?1 ->> 'tenant_id' AND ({key}) IN ({chunk})"
    argument = {**erasure.argument, "limit": limit}
    changes = (_COUNT_TIER.format(kind=kind, chunk=chunk), delete, _DELETE_USAGE)
    return [
        *(Statement.write(sql, repeatable=True, **argument) for sql in changes),
        Statement.read(_PROGRESS, **argument),
        READ_ALL,
    ]


def read_progress(results: Sequence[list[Row]]) -> tuple[ErasureProgress, list[EmbeddingConfig]]:
    """Read the results of ``erase_chunk`` or ``erase_tier``: the progress, and the configs of indexes with vectors."""
    *_, (progress,), configs = results
    return read_row(ErasureProgress, progress), read_all(configs)


def queue_strays(erasure: RunningErasure, index_name: str, agent_by_id: Mapping[str, str]) -> Statement:
    """Queue the removal of vectors that no row of the database names."""
    strays: list[Json] = [{"id": id_, "agent_id": agent_id} for id_, agent_id in agent_by_id.items()]
    return Statement.write(_QUEUE_STRAYS, tenant_id=erasure.tenant_id, index_name=index_name, strays=strays)


def finish(erasure: RunningErasure, receipt: Json) -> list[Statement]:
    """Write the receipt, and an audit row with the same content."""
    argument = {**erasure.argument, "receipt": to_json(receipt)}
    return [Statement.write(sql, repeatable=True, **argument) for sql in (_AUDIT, _FINISH)]
