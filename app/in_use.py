"""Which embedding config a tenant's vectors are made with, and which other one is kept up to date beside it (ADR 0010).

There is one config for all tenants, except while the data moves from one to another: then there are two, each with
an index of its own, every memory goes to both, and a tenant's recalls search the one that is in use for it.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache

from app.model import EmbeddingConfig, Json
from app.ports.database import Database, Row, Statement

_ACTIVE = """coalesce(
  (SELECT of_tenant.index_name FROM embedding_of_tenant AS of_tenant WHERE of_tenant.tenant_id = ?1 ->> 'tenant_id'),
  (SELECT in_use.index_name FROM embedding_in_use AS in_use)
)"""
_SHADOW = f"(SELECT config.index_name FROM embedding_config AS config WHERE config.index_name <> {_ACTIVE})"

HOLDS = f"{_ACTIVE} = ?1 ->> 'active' AND {_SHADOW} IS ?1 ->> 'shadow'"
"""A boolean SQL expression: what is in use is what ``InUse.argument`` says."""

AS_JSON = "json_array(config.provider, config.model, config.dimensions, config.index_name)"
"""A row of ``embedding_config AS config`` as ``config_of`` reads it."""

_CONFIG = f"(SELECT {AS_JSON} FROM embedding_config AS config WHERE config.index_name {{which}})"
COLUMNS = f"""
{_CONFIG.format(which=f"= {_ACTIVE}")} AS active, {_CONFIG.format(which=f"<> {_ACTIVE}")} AS shadow,
  (SELECT in_use.epoch FROM embedding_in_use AS in_use) AS config_epoch,
  EXISTS (SELECT 1 FROM long_term_memory) AS any_memory
"""
"""SQL columns for ``read``; they need ``tenant_id`` in the argument."""

_READ = Statement(f"SELECT {COLUMNS}", {"tenant_id": ""})
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


@dataclass(frozen=True, slots=True)
class InUse:
    """What one tenant's data is embedded with: recalls search ``active``, stores write to ``shadow`` as well."""

    active: EmbeddingConfig
    shadow: EmbeddingConfig | None = None
    epoch: int = field(default=0, compare=False)
    """Rises with every change, for whatever tenant."""

    @property
    def configs(self) -> tuple[EmbeddingConfig, ...]:
        """Those that every memory goes to."""
        return (self.active,) if self.shadow is None else (self.active, self.shadow)

    @property
    def by_index(self) -> dict[str, EmbeddingConfig]:
        """The same by the name of their index."""
        return {config.index_name: config for config in self.configs}

    @property
    def argument(self) -> dict[str, Json]:
        """What ``HOLDS`` reads, beside ``tenant_id``."""
        return {
            "active": self.active.index_name,
            "shadow": None if self.shadow is None else self.shadow.index_name,
        }


async def begin(database: Database, config: EmbeddingConfig) -> InUse | None:
    """Put the config in use where none is yet, and return what ``now`` does."""
    return of_memories(await _run(database, _IF_NONE, config))


async def claim(database: Database, config: EmbeddingConfig) -> InUse:
    """Put the config in use where there is no memory: whoever stores first decides. Return what is in use then."""
    return read(await _run(database, _IF_EMPTY, config)) or InUse(config)


async def now(database: Database) -> InUse | None:
    """Return what is in use for tenants without a config of their own; None where there is no memory."""
    ((row,),) = await database.run([_READ])
    return of_memories(row)


def read(row: Row) -> InUse | None:
    """Make of a row with ``COLUMNS`` what is in use; None where nothing is yet."""
    if row["active"] is None:
        return None
    shadow = None if row["shadow"] is None else config_of(str(row["shadow"]))
    return InUse(config_of(str(row["active"])), shadow, int(row["config_epoch"] or 0))


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


def of_memories(row: Row) -> InUse | None:
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
