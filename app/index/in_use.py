"""Which embedding config the database's vectors are made with. It holds for all tenants."""

from app.errors import EmbeddingConfigMismatch
from app.model import EmbeddingConfig, Json
from app.ports.database import Database, Row, Statement

READ = Statement("SELECT provider, model, dimensions FROM embedding_in_use")
"""Goes into every recall's run, so that no answer mixes two configs."""

# An empty database takes whichever config it is started with.
_CLAIM = """
INSERT INTO embedding_in_use (singleton, index_name, provider, model, dimensions)
VALUES (1, ?1 ->> 'index_name', ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions')
ON CONFLICT (singleton) DO UPDATE SET
  index_name = excluded.index_name, provider = excluded.provider,
  model = excluded.model, dimensions = excluded.dimensions
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory)
"""


async def claim(database: Database, config: EmbeddingConfig) -> None:
    """Put the config in use where the database holds no memory yet, and check that it is.

    Raises:
        EmbeddingConfigMismatch: the database holds memories embedded with another config.
    """
    argument: dict[str, Json] = {
        "index_name": config.index_name,
        "provider": config.provider,
        "model": config.model,
        "dimensions": config.dimensions,
    }
    _, rows = await database.run([Statement(_CLAIM, argument, writes=True), READ])
    check(rows, config)


async def mismatch(database: Database, config: EmbeddingConfig) -> EmbeddingConfigMismatch:
    """Return the error for a run that another config than this one kept from writing."""
    (rows,) = await database.run([READ])
    return EmbeddingConfigMismatch(stored=_config(rows), configured=config)


def check(rows: list[Row], config: EmbeddingConfig) -> None:
    """Raise ``EmbeddingConfigMismatch`` unless the rows that ``READ`` returned name this config."""
    stored = _config(rows)
    if stored != config:
        raise EmbeddingConfigMismatch(stored=stored, configured=config)


def _config(rows: list[Row]) -> EmbeddingConfig:
    (row,) = rows
    return EmbeddingConfig(str(row["provider"]), str(row["model"]), int(row["dimensions"] or 0))
