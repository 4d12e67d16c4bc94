"""Which embedding config recalls search with, and which other one is kept up to date beside it (ADR 0010).

There is one config for all tenants. While the data moves to another there are two, each with an index of its own:
every memory goes to both, and all recalls search the active one.
"""

import json
from functools import lru_cache

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.json_types import Json
from app.ports.database import Database, Row, Statement

ACTIVE = "(SELECT in_use.index_name FROM embedding_in_use AS in_use)"
"""An SQL expression: the name of the index that recalls search."""
_SHADOW = f"FROM embedding_config AS config WHERE config.index_name <> {ACTIVE}"
SHADOW = f"(SELECT config.index_name {_SHADOW})"
"""An SQL expression: the name of the index that is kept beside it; NULL where there is none."""

HOLDS = f"{ACTIVE} = ?1 ->> 'active' AND {SHADOW} IS ?1 ->> 'shadow'"
"""A boolean SQL expression: what is in use is what ``InUse.argument`` says."""

AS_JSON = "json_array(config.provider, config.model, config.dimensions, config.index_name)"
"""A row of ``embedding_config`` or ``embedding_in_use``, as ``config``, in the form that ``config_of`` reads."""

BOTH = f"(SELECT {AS_JSON} FROM embedding_in_use AS config) AS active, (SELECT {AS_JSON} {_SHADOW}) AS shadow"
"""SQL columns: the active config and the shadow, each as ``config_of`` reads it, or NULL."""

COLUMNS = f"""
{BOTH}, (SELECT in_use.epoch FROM embedding_in_use AS in_use) AS config_epoch,
  EXISTS (SELECT 1 FROM long_term_memory) AS any_memory
"""
"""SQL columns for ``read``."""

_READ = Statement(f"SELECT {COLUMNS}")
_CLAIM = """
INSERT INTO embedding_in_use (singleton, index_name, provider, model, dimensions)
VALUES (1, ?1 ->> 'index_name', ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions')
ON CONFLICT (singleton) DO {conflict}
"""
_IF_NONE = _CLAIM.format(conflict="NOTHING")
_IF_EMPTY = _CLAIM.format(
    conflict="""UPDATE SET
  index_name = excluded.index_name, provider = excluded.provider,
  model = excluded.model, dimensions = excluded.dimensions, epoch = embedding_in_use.epoch + 1
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory) AND NOT EXISTS (SELECT 1 FROM reembedding)"""
)
_KEPT = """
INSERT INTO embedding_config (index_name, provider, model, dimensions)
SELECT index_name, provider, model, dimensions FROM embedding_in_use WHERE TRUE ON CONFLICT DO NOTHING
"""
_NO_LONGER_KEPT = """
DELETE FROM embedding_config WHERE NOT EXISTS (SELECT 1 FROM reembedding)
  AND index_name <> (SELECT in_use.index_name FROM embedding_in_use AS in_use)
"""


async def begin(database: Database, config: EmbeddingConfig) -> EmbeddingConfigs | None:
    """Put the config in use where none is yet, and return what ``now`` does."""
    return of_memories(await _run(database, _IF_NONE, config))


async def claim(database: Database, config: EmbeddingConfig) -> EmbeddingConfigs:
    """Put the config in use where there is no memory: whoever stores first decides. Return what is in use then."""
    return read(await _run(database, _IF_EMPTY, config)) or EmbeddingConfigs(config)


async def now(database: Database) -> EmbeddingConfigs | None:
    """Return what is in use; None where there is no memory."""
    ((row,),) = await database.run([_READ])
    return of_memories(row)


def read(row: Row) -> EmbeddingConfigs | None:
    """Make of a row with ``COLUMNS`` what is in use; None where nothing is yet."""
    if row["active"] is None:
        return None
    shadow = None if row["shadow"] is None else config_of(str(row["shadow"]))
    return EmbeddingConfigs(config_of(str(row["active"])), shadow, int(row["config_epoch"] or 0))


@lru_cache(maxsize=64)
def config_of(text: str) -> EmbeddingConfig:
    """Read what ``AS_JSON`` wrote; every recall does."""
    provider, model, dimensions, index_name = json.loads(text)
    whole = EmbeddingConfig(provider, model, dimensions)
    return whole if whole.index_name == index_name else EmbeddingConfig(provider, model, dimensions, shortened=True)


def named(config: EmbeddingConfig) -> dict[str, Json]:
    """Return a config as an argument of the statements that write it down."""
    return {
        "index_name": config.index_name,
        "provider": config.provider,
        "model": config.model,
        "dimensions": config.dimensions,
    }


def of_memories(row: Row) -> EmbeddingConfigs | None:
    """Make of a row with ``COLUMNS`` what is in use; None where there is no memory."""
    return read(row) if row["any_memory"] else None


async def _run(database: Database, sql: str, config: EmbeddingConfig) -> Row:
    *_, (row,) = await database.run(
        [
            Statement(sql, named(config), writes=True, repeatable=True),
            Statement(_KEPT, writes=True, repeatable=True),
            Statement(_NO_LONGER_KEPT, writes=True, repeatable=True),
            _READ,
        ]
    )
    return row
