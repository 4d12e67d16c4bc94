"""Reads and changes the embedding configs in use: the active one, which recalls search with, and the shadow (ADR 0010).

They are the same for all tenants. There is a shadow only while the data moves to another config: then every memory is
written to the indexes of both, and all recalls search the active one.
"""

from collections.abc import Iterable

from app.domain.embedding import EmbeddingConfig, EmbeddingConfigs
from app.domain.errors import Unavailable
from app.ports.database import Database, Row, Statement
from app.storage.request_state import ServiceState
from app.storage.rows import read_row

ACTIVE = "(SELECT in_use.index_name FROM embedding_in_use AS in_use)"
"""An SQL expression: the name of the active config's index."""
_SHADOW = f"FROM embedding_config AS config WHERE config.index_name <> {ACTIVE}"
SHADOW = f"(SELECT config.index_name {_SHADOW})"
"""An SQL expression: the name of the shadow's index; NULL where there is no shadow."""

AS_JSON = "json_array(config.provider, config.model, config.dimensions, config.index_name)"
"""An SQL expression over a row named ``config``: the JSON text that ``EmbeddingConfig.from_json`` reads."""

READ_STATE = Statement.read("SELECT state.* FROM service_state AS state")
READ_ALL = Statement.read(f"SELECT {AS_JSON} AS config FROM embedding_config AS config")
"""Reads the active config and the shadow, in any order; ``read_all`` reads the rows."""

_ACTIVATE_IF_NONE = """
INSERT INTO embedding_in_use (singleton, index_name, provider, model, dimensions)
VALUES (1, ?1 ->> 'index_name', ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions')
ON CONFLICT (singleton) DO NOTHING
"""
_ACTIVATE_IF_NO_MEMORY = """
INSERT INTO embedding_in_use (singleton, index_name, provider, model, dimensions)
VALUES (1, ?1 ->> 'index_name', ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions')
ON CONFLICT (singleton) DO UPDATE SET
  index_name = excluded.index_name, provider = excluded.provider,
  model = excluded.model, dimensions = excluded.dimensions, epoch = embedding_in_use.epoch + 1
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory) AND NOT EXISTS (SELECT 1 FROM reembedding)
"""
_KEEP_ACTIVE = Statement.write("""
INSERT INTO embedding_config (index_name, provider, model, dimensions)
SELECT index_name, provider, model, dimensions FROM embedding_in_use WHERE TRUE ON CONFLICT DO NOTHING
""")
_FORGET_OTHERS = Statement.write("""
DELETE FROM embedding_config WHERE NOT EXISTS (SELECT 1 FROM reembedding)
  AND index_name <> (SELECT in_use.index_name FROM embedding_in_use AS in_use)
""")


async def begin(database: Database, config: EmbeddingConfig) -> EmbeddingConfigs | None:
    """Make the config active where none is yet; return the configs in use, or None where there is no memory."""
    return (await _activate(database, _ACTIVATE_IF_NONE, config)).configs_of_memories


async def claim(database: Database, config: EmbeddingConfig) -> EmbeddingConfigs:
    """Make the config active where there is no memory: the first store decides. Return the configs in use then."""
    return (await _activate(database, _ACTIVATE_IF_NO_MEMORY, config)).configs or EmbeddingConfigs(config)


async def current(database: Database) -> EmbeddingConfigs | None:
    """Return the configs in use; None where there is no memory."""
    ((row,),) = await database.run([READ_STATE])
    return read_row(ServiceState, row).configs_of_memories


async def prepared(database: Database) -> EmbeddingConfigs:
    """Return the configs that a prepared database has, whether there is a memory or not.

    Raises:
        Unavailable: the database is not prepared yet, or does not answer.
    """
    ((row,),) = await database.run([READ_STATE])
    configs = read_row(ServiceState, row).configs
    if configs is None:
        raise Unavailable("The database has no embedding config yet. Try again.")
    return configs


def read_all(rows: Iterable[Row]) -> list[EmbeddingConfig]:
    """Read the rows of ``READ_ALL``."""
    return [EmbeddingConfig.from_json(str(row["config"])) for row in rows]


async def _activate(database: Database, sql: str, config: EmbeddingConfig) -> ServiceState:
    *_, (row,) = await database.run(
        [
            Statement.write(sql, repeatable=True, **config.argument),
            _KEEP_ACTIVE,
            _FORGET_OTHERS,
            READ_STATE,
        ]
    )
    return read_row(ServiceState, row)
