"""Which embedding config the database's vectors are made with. It holds for all tenants."""

from app.errors import EmbeddingConfigMismatch
from app.model import EmbeddingConfig, Json
from app.ports.database import Database, Row, Statement

READ = Statement(
    "SELECT provider, model, dimensions FROM embedding_in_use WHERE EXISTS (SELECT 1 FROM long_term_memory)"
)
"""Goes into every recall's run, so that no answer mixes two configs; no row where there is no memory."""

_BEGIN = """
INSERT INTO embedding_in_use (singleton, index_name, provider, model, dimensions)
VALUES (1, ?1 ->> 'index_name', ?1 ->> 'provider', ?1 ->> 'model', ?1 ->> 'dimensions')
ON CONFLICT (singleton) DO {conflict}
"""
_CLAIM = _BEGIN.format(
    conflict="""UPDATE SET
  index_name = excluded.index_name, provider = excluded.provider,
  model = excluded.model, dimensions = excluded.dimensions
WHERE NOT EXISTS (SELECT 1 FROM long_term_memory)"""
)


async def begin(database: Database, config: EmbeddingConfig) -> None:
    """Put the config in use where none is yet.

    Raises:
        EmbeddingConfigMismatch: the database holds memories embedded with another config.
    """
    await _run(database, _BEGIN.format(conflict="NOTHING"), config)


async def claim(database: Database, config: EmbeddingConfig) -> None:
    """Put the config in use where there is no memory: whoever stores first decides. Raises as ``begin`` does."""
    await _run(database, _CLAIM, config)


async def _run(database: Database, sql: str, config: EmbeddingConfig) -> None:
    argument: dict[str, Json] = {
        "index_name": config.index_name,
        "provider": config.provider,
        "model": config.model,
        "dimensions": config.dimensions,
    }
    _, rows = await database.run([Statement(sql, argument, writes=True, repeatable=True), READ])
    check(rows, config)


async def verify(database: Database, config: EmbeddingConfig) -> None:
    """Raise ``EmbeddingConfigMismatch`` if the database holds memories embedded with another config."""
    (rows,) = await database.run([READ])
    check(rows, config)


def check(rows: list[Row], config: EmbeddingConfig) -> None:
    """Raise ``EmbeddingConfigMismatch`` if the rows that ``READ`` returned name another config."""
    for row in rows:
        stored = EmbeddingConfig(str(row["provider"]), str(row["model"]), int(row["dimensions"] or 0))
        if stored != config:
            raise EmbeddingConfigMismatch(stored=stored, configured=config)
