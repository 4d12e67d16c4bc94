"""Does what an erasure asks, a chunk at a time, resumable at any point. Crosses tenants; no request imports it."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json, to_json
from app.indexing.embedding_registry import OpenIndex
from app.ports.database import NOW, Database, Row, Statement
from app.storage.embedding_configs import AS_JSON, config_of
from app.storage.outbox import ANEW, GRACE_MS, QUEUED_AGAIN

_CHUNK = 500
_CHUNKS_AT_ONCE = 20
_DAY_MS = 24 * 3600 * 1000

_TENANT = "{table}.tenant_id = ?1 ->> 'tenant_id'"
_AGENT = _TENANT + " AND {table}.agent_id = ?1 ->> 'agent_id'"

# The same rows in each statement of a run: none before the last of them changes what it reads.
_CHUNK_OF = """
SELECT memory.id FROM long_term_memory AS memory WHERE {memory}
ORDER BY memory.agent_id, memory.created_at DESC, memory.rowid LIMIT {chunk}
"""
_QUEUED = """
SELECT {what} FROM outbox WHERE {outbox} AND outbox.operation = 'upsert' AND (
  outbox.id IN ({chunk_of}) OR NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = outbox.id)
)
"""
_COUNT = """
UPDATE erasure SET advanced_at = {now},
  memories = memories + (SELECT count(*) FROM ({chunk_of})),
  outbox_rows = outbox_rows + ({queued}),
  dead_letters = dead_letters + ({dead}),
  idempotency_keys = idempotency_keys + (SELECT count(*) FROM idempotency WHERE {idempotency})
WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'
"""
_UNQUEUE = """
UPDATE outbox SET operation = 'delete', vector = NULL, revision = max({now}, outbox.revision + 1), {anew}
WHERE {outbox} AND outbox.operation = 'upsert'
  AND NOT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE memory.id = outbox.id)
"""
_QUEUE = """
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT memory.tenant_id, memory.agent_id, memory.id, config.index_name, 'delete', {now}, {now} + {grace}
FROM long_term_memory AS memory CROSS JOIN embedding_config AS config WHERE {memory} AND memory.id IN ({chunk_of})
{queued_again}
"""
_DELETE = "DELETE FROM long_term_memory AS memory WHERE {memory} AND memory.id IN ({chunk_of})"
_DELETE_KEYS = "DELETE FROM idempotency WHERE {idempotency}"
_DELETE_SETTINGS = "DELETE FROM agent WHERE {agent}"
# Counts that the deletion has brought to 0 name an agent still. What the operator has set (quota) stays.
_DELETE_USAGE = "DELETE FROM usage WHERE {usage} AND usage.memories <= 0"
_STATE = """
SELECT EXISTS (SELECT 1 FROM long_term_memory AS memory WHERE {memory}) AS more,
  EXISTS (SELECT 1 FROM outbox WHERE {outbox}) AS queued,
  erasure.memories, erasure.outbox_rows, erasure.dead_letters, erasure.idempotency_keys, {now} AS now
FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'
"""

_CONFIGS = Statement(f"SELECT {AS_JSON} AS config FROM embedding_config AS config")

_QUEUE_STRAYS = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, due_at)
SELECT ?1 ->> 'tenant_id', value ->> 'agent_id', value ->> 'id', ?1 ->> 'index_name', 'delete', {NOW}, {NOW}
FROM json_each(?1, '$.strays') WHERE TRUE
ON CONFLICT DO NOTHING
"""
_AUDIT = f"""
INSERT INTO audit (tenant_id, agent_id, event, detail, created_at)
SELECT erasure.tenant_id, erasure.agent_id, 'erased', ?1 ->> 'receipt', {NOW} FROM erasure
WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id' AND erasure.receipt IS NULL
"""
_FINISH = """
UPDATE erasure SET receipt = ?1 ->> 'receipt'
WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id' AND erasure.receipt IS NULL
"""


@dataclass(frozen=True, slots=True)
class _Sql:
    """The statements of one kind of scope."""

    writes: tuple[str, ...]
    state: str


def _sql(scope: str) -> _Sql:
    """Write the statements for an agent or for a tenant, so that each can use the index made for it."""
    names: dict[str, object] = {
        "memory": scope.format(table="memory"),
        "outbox": scope.format(table="outbox"),
        "idempotency": scope.format(table="idempotency"),
        "agent": scope.format(table="agent"),
        "usage": scope.format(table="usage"),
        "chunk": _CHUNK,
        "now": NOW,
        "grace": GRACE_MS,
        "anew": ANEW,
        "queued_again": QUEUED_AGAIN,
    }
    names["chunk_of"] = _CHUNK_OF.format(**names)
    names["queued"] = _QUEUED.format(what="count(*)", **names)
    names["dead"] = _QUEUED.format(what="count(outbox.dead)", **names)
    writes = (_COUNT, _UNQUEUE, _QUEUE, _DELETE, _DELETE_KEYS, _DELETE_SETTINGS, _DELETE_USAGE)
    return _Sql(tuple(sql.format(**names) for sql in writes), _STATE.format(**names))


_OF_AGENT, _OF_TENANT = _sql(_AGENT), _sql(_TENANT)


class Eraser:
    """Takes erasures further: rows first, then, once their vectors are known to be gone, the receipt."""

    def __init__(self, database: Database, index_of: OpenIndex) -> None:
        """Take the ports."""
        self._database = database
        self._index_of = index_of

    async def advance(self, row: Row) -> None:
        """Take one erasure under way as far as it gets now.

        Every statement can be made again at any point: what is done is not found a second time.

        Raises:
            Unavailable: the database or the index does not answer; the next call goes on.
        """
        argument = {"id": row["id"], "tenant_id": row["tenant_id"], "agent_id": row["agent_id"]}
        for _ in range(_CHUNKS_AT_ONCE):
            state, configs = await self._chunk(argument)
            if not state["more"]:
                break
        else:
            return
        if state["queued"]:
            return
        strays = [await self._queue_strays(argument, config) for config in configs]
        if not any(strays):
            await self._finish(argument, state)

    async def _chunk(self, argument: Mapping[str, Json]) -> tuple[Row, list[EmbeddingConfig]]:
        """Erase the next memories; return what is left, and whose indexes may hold more than the database knows."""
        sql = _OF_TENANT if argument["agent_id"] is None else _OF_AGENT
        *_, (state,), configs = await self._database.run(
            [
                *(Statement(text, argument, writes=True, repeatable=True) for text in sql.writes),
                Statement(sql.state, argument),
                _CONFIGS,
            ]
        )
        return state, [config_of(str(row["config"])) for row in configs]

    async def _queue_strays(self, argument: Mapping[str, Json], config: EmbeddingConfig) -> bool:
        """Queue what a search of an index still finds of the scope, though no row names it. Return whether any."""
        agent_id, index = argument["agent_id"], self._index_of(config)
        ids = await index.sample(str(argument["tenant_id"]), None if agent_id is None else str(agent_id))
        if not ids:
            return False
        held = await index.held(ids)
        strays: list[Json] = [{"id": id_, "agent_id": found.scope.agent_id} for id_, found in held.items()]
        named = {**argument, "index_name": config.index_name, "strays": strays}
        await self._database.run([Statement(_QUEUE_STRAYS, named, writes=True, repeatable=True)])
        return True

    async def _finish(self, argument: Mapping[str, Json], state: Row) -> None:
        """Write the receipt, and an audit row that says the same."""
        days, now = self._database.history_days, int(state["now"] or 0)
        counts = ("memories", "outbox_rows", "dead_letters", "idempotency_keys")
        receipt: Json = {
            "finished_at": now,
            "erased": {name: state[name] for name in counts},
            "found_by_id": 0,
            "found_by_search": 0,
            "history_until": now + days * _DAY_MS if days else None,
        }
        written = {**argument, "receipt": to_json(receipt)}
        await self._database.run([Statement(sql, written, writes=True, repeatable=True) for sql in (_AUDIT, _FINISH)])
        structlog.get_logger().info("erased", erasure=argument["id"], **{name: state[name] for name in counts})
