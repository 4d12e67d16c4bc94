"""Statements that move the data from one embedding config to another. They cross tenants; no request imports them."""

from dataclasses import dataclass
from typing import Any

from app.domain.embedding import EmbeddingConfig
from app.domain.json_types import Json, to_json
from app.ports.database import NOW, Statement
from app.storage.embedding_configs import ACTIVE, AS_JSON, SHADOW
from app.storage.outbox import MAX_IN_BULK, MAX_PENDING

_MAX_CHUNK = 1000

_START = f"""
INSERT INTO reembedding (singleton, index_name, started_at)
SELECT 1, ?1 ->> 'index_name', {NOW} FROM embedding_in_use AS in_use WHERE in_use.index_name <> ?1 ->> 'index_name'
ON CONFLICT DO NOTHING
"""
_KEEP_CONFIG = """
INSERT INTO embedding_config (index_name, provider, model, dimensions)
SELECT reembedding.index_name, ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions'
FROM reembedding WHERE reembedding.index_name = ?1 ->> 'index_name' ON CONFLICT DO NOTHING
"""
_NEXT_EPOCH = Statement.write("UPDATE embedding_in_use SET epoch = epoch + 1")
# Recalls find at once what they found before: every memory has its vector in the other index, or among the few queued
# vectors that are still scored from the outbox. Nor does the removal of a memory's vector wait: the indexer takes such
# a removal in the active index for a deletion that stopped half-way.
_BEHIND = f"""
(EXISTS (
  SELECT 1 FROM outbox WHERE outbox.operation = 'upsert' AND outbox.index_name = {{index}}
  GROUP BY outbox.tenant_id, outbox.agent_id, outbox.in_bulk
  HAVING count(*) > iif(outbox.in_bulk, {MAX_IN_BULK}, {MAX_PENDING})
) OR EXISTS (
  SELECT 1 FROM outbox CROSS JOIN long_term_memory AS memory
  WHERE outbox.operation = 'delete' AND outbox.index_name = {{index}} AND memory.id = outbox.id
    AND memory.tenant_id = outbox.tenant_id AND memory.agent_id = outbox.agent_id
))
"""
READ_STATE = Statement.read(f"""
SELECT reembedding.started_at, reembedding.left_out, reembedding.parity,
  reembedding.complete_at IS reembedding.left_out AS complete,
  (SELECT {AS_JSON} FROM embedding_in_use AS config) AS used,
  (SELECT {AS_JSON} FROM embedding_config AS config WHERE config.index_name <> {ACTIVE}) AS other,
  (SELECT {AS_JSON} FROM embedding_config AS config WHERE config.index_name = reembedding.index_name) AS target,
  {_BEHIND.format(index=SHADOW)} AS behind
FROM reembedding
""")
"""Reads the state of the re-embedding, as a row of ``ReembeddingState``; no row where none is under way."""

_SET_COMPLETE = "UPDATE reembedding SET complete_at = ?1 ->> 'left_out'"
_SET_PARITY = "UPDATE reembedding SET parity = ?1 ->> 'parity'"

_SWITCH = f"""
UPDATE embedding_in_use
SET index_name = config.index_name, provider = config.provider, model = config.model, dimensions = config.dimensions,
  epoch = embedding_in_use.epoch + 1
FROM embedding_config AS config
WHERE config.index_name = ?1 ->> 'to'
  AND EXISTS (
    SELECT 1 FROM reembedding WHERE reembedding.complete_at = reembedding.left_out
      AND (?1 ->> 'force' OR reembedding.parity IS NOT NULL)
  )
  AND NOT {_BEHIND.format(index="?1 ->> 'to'")}
RETURNING index_name
"""
_SET_CONFIG = f"""
UPDATE long_term_memory
SET embedding_provider = active.provider, embedding_model = active.model, embedding_dimensions = active.dimensions
FROM embedding_in_use AS active
WHERE id IN (SELECT id FROM long_term_memory WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_MAX_CHUNK})
"""
_LAST_OF_CHUNK = f"""
SELECT max(id) AS last FROM (SELECT id FROM long_term_memory WHERE id > ?1 ->> 'after' ORDER BY id LIMIT {_MAX_CHUNK})
"""
_FORGET_CONFIG = f"""
DELETE FROM embedding_config WHERE index_name = ?1 ->> 'index_name' AND index_name <> {ACTIVE}
RETURNING index_name
"""
_END = """
DELETE FROM reembedding WHERE NOT EXISTS (
  SELECT 1 FROM embedding_config AS config WHERE config.index_name = ?1 ->> 'index_name'
)
"""
_DELETE_QUEUED = f"""
DELETE FROM outbox WHERE (tenant_id, agent_id, id, index_name) IN (
  SELECT tenant_id, agent_id, id, index_name FROM outbox WHERE index_name = ?1 ->> 'index_name' LIMIT {_MAX_CHUNK}
) RETURNING 1
"""


@dataclass(frozen=True, slots=True)
class ReembeddingState:
    """The state of a re-embedding.

    ``used`` is the active config, ``other`` the shadow; the data is moving to ``target``, which is one of the two.
    ``left_out`` counts the stores that could not embed for the shadow.
    ``complete``: every memory has a vector queued for or sent to both indexes.
    ``behind``: a scope has more vectors queued for the shadow than a recall scores from the outbox, or the removal of a
    memory's vector is queued for it.
    """

    started_at: int
    used: EmbeddingConfig
    other: EmbeddingConfig
    target: EmbeddingConfig
    left_out: int
    complete: bool
    behind: bool
    parity: dict[str, Any] | None


def begin(target: EmbeddingConfig) -> list[Statement]:
    """Begin to move to the target where no move is under way; the last statement returns the state."""
    return [
        Statement.write(_START, repeatable=True, **target.argument),
        Statement.write(_KEEP_CONFIG, repeatable=True, **target.argument),
        _NEXT_EPOCH,
        READ_STATE,
    ]


def set_complete(left_out: int) -> Statement:
    """Note that a copy has copied every memory: when it began, ``left_out`` stores had left out a vector."""
    return Statement.write(_SET_COMPLETE, left_out=left_out)


def set_parity(parity: Json) -> Statement:
    """Keep the result of a comparison of both indexes."""
    return Statement.write(_SET_PARITY, parity=to_json(parity))


def switch(to: EmbeddingConfig, *, force: bool) -> Statement:
    """Make a config active; returns a row if it was allowed."""
    return Statement.write(_SWITCH, to=to.index_name, force=force)


def set_config(after: str) -> list[Statement]:
    """Write the active config to the next memories; the last statement returns the ``last`` memory's id, or NULL."""
    return [Statement.write(_SET_CONFIG, after=after), Statement.read(_LAST_OF_CHUNK, after=after)]


def forget_config(config: EmbeddingConfig) -> list[Statement]:
    """End the move and forget the config; the first statement returns a row unless the config is active."""
    name = config.index_name
    return [Statement.write(_FORGET_CONFIG, index_name=name), Statement.write(_END, index_name=name), _NEXT_EPOCH]


def delete_queued(config: EmbeddingConfig) -> Statement:
    """Delete some of the rows queued for a config's index; returns a row for each."""
    return Statement.write(_DELETE_QUEUED, index_name=config.index_name)
