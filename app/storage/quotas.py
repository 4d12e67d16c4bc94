"""Limits on the memories, bytes and stores of a tenant and of each of its agents, and the usage of these limits.

The limits are the settings' defaults, where the operator has not set others (table ``quota``). Triggers count the
memories and bytes, and the gates of writes count the stores of a minute (``schema.sql``). The gates also check every
write against its limits, in its own run of the database: no number of replicas gets past a limit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.domain.quotas import TIERS, UNLIMITED, Defaults, LimitName, Limits, Needed, RowCounts, Usage, exceeded
from app.ports.database import NOW, Row
from app.storage.rows import read_row, read_rows
from app.storage.scoped import ScopedStatement
from app.storage.tiers.tables import TIER_TABLES

MAX_AGENTS = 1000
"""How many agents are listed at once, those that hold the most bytes first."""

# The usage, the limits, and how many seconds are left of the minute, by the database's clock.
_COLUMNS = f"""
coalesce(usage.memories, 0) AS memories, coalesce(usage.bytes, 0) AS bytes,
  iif(usage.minute = {NOW} / 60000, usage.stores, 0) AS stores,
  coalesce(quota.memories, scope.value ->> 1) AS max_memories, coalesce(quota.bytes, scope.value ->> 2) AS max_bytes,
  coalesce(quota.stores_per_minute, scope.value ->> 3) AS max_stores, 60 - {NOW} / 1000 % 60 AS next_minute
"""
_OF_TIERS = ", ".join(f"coalesce(usage.{tier}_bytes, 0) AS {tier}_bytes" for tier in TIERS)
_READ = f"""
SELECT scope.value ->> 0 AS agent_id, {_COLUMNS}{{parts}} FROM json_each(?1, '$.scopes') AS scope
LEFT JOIN quota ON quota.tenant_id = ?1 ->> 'tenant_id' AND quota.agent_id = scope.value ->> 0
LEFT JOIN usage ON usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = scope.value ->> 0
ORDER BY scope.key
"""
_TOTALS, _PARTS = _READ.format(parts=""), _READ.format(parts=f", {_OF_TIERS}")
# The first element of $.scopes has the default limits of an agent.
_AGENTS = f"""
SELECT usage.agent_id, {_COLUMNS}, {_OF_TIERS}
FROM usage JOIN json_each(?1, '$.scopes') AS scope ON scope.key = 0
LEFT JOIN quota ON quota.tenant_id = usage.tenant_id AND quota.agent_id = usage.agent_id
WHERE usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id <> ''
ORDER BY usage.bytes DESC, usage.agent_id LIMIT {MAX_AGENTS}
"""
# Only the limits that are given are set: a limit that is not named stays as it is.
_SET = """
INSERT INTO quota (tenant_id, agent_id, memories, bytes, stores_per_minute)
VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> '$.set.memories', ?1 ->> '$.set.bytes',
  ?1 ->> '$.set.stores_per_minute')
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
  memories = iif(json_type(?1, '$.set.memories') IS NULL, quota.memories, excluded.memories),
  bytes = iif(json_type(?1, '$.set.bytes') IS NULL, quota.bytes, excluded.bytes),
  stores_per_minute =
    iif(json_type(?1, '$.set.stores_per_minute') IS NULL, quota.stores_per_minute, excluded.stores_per_minute)
"""
_CLEAR = "DELETE FROM quota WHERE quota.tenant_id = ?1 ->> 'tenant_id' AND quota.agent_id = ?1 ->> 'agent_id'"

# Each kind of row has a bound or is pruned (docs/limits.md).
MAX_COUNTED = 100_000
"""The audit rows that are counted at most: each of them is read for the count."""
MAX_ROWS = 100_001
"""The rows of a kind that are counted at most: one more than a tenant may have of any kind."""

_KINDS = tuple(tier.kind for tier in TIER_TABLES if tier.counted)
_ROWS_OF_TIERS = "".join(
    f""",
  (
    SELECT count(*) FROM (
      SELECT 1 FROM {tier.table} WHERE {tier.table}.tenant_id = ?1 ->> 'tenant_id' LIMIT {MAX_ROWS}
    )
  ) AS {tier.kind}"""
    for tier in TIER_TABLES
    if tier.counted
)
_ROW_COUNTS = f"""
SELECT
  (
    SELECT coalesce(sum(counted.keys), 0) FROM idempotency_count AS counted
    WHERE counted.tenant_id = ?1 ->> 'tenant_id'
  ) AS idempotency_keys,
  (
    SELECT count(*) FROM (SELECT 1 FROM audit WHERE audit.tenant_id = ?1 ->> 'tenant_id' LIMIT {MAX_COUNTED})
  ) AS audit_rows,
  (SELECT count(*) FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id') AS agent_settings,
  (
    SELECT count(*) FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.receipt IS NOT NULL
  ) AS receipts,
  (
    SELECT coalesce(sum(snapshot.bytes), 0) FROM snapshot WHERE snapshot.tenant_id = ?1 ->> 'tenant_id'
  ) AS snapshot_bytes{_ROWS_OF_TIERS}
"""


@dataclass(frozen=True, slots=True)
class Quotas:
    """Statements over one tenant's limits and usage. The tenant is bound here, once."""

    tenant_id: str
    defaults: Defaults

    def read(self, agent_id: str | None) -> ScopedStatement:
        """Read an agent's usage and then the tenant's, or only the tenant's: a row for each, for ``usages``."""
        return self.read_each([] if agent_id is None else [agent_id])

    def read_each(self, agent_ids: Iterable[str]) -> ScopedStatement:
        """Read the usage of these agents, in their order, and then the tenant's: a row for each, for ``usages``."""
        return ScopedStatement.read(self._tenant, _TOTALS, scopes=self.defaults.scopes(agent_ids))

    def parts(self, agent_id: str | None) -> ScopedStatement:
        """Read what ``read`` reads, with the bytes of each tier."""
        return ScopedStatement.read(
            self._tenant, _PARTS, scopes=self.defaults.scopes([] if agent_id is None else [agent_id])
        )

    def agents(self) -> ScopedStatement:
        """Read the usage of the tenant's agents, those that hold the most bytes first."""
        return ScopedStatement.read(self._tenant, _AGENTS, scopes=self.defaults.scopes([""]))

    def row_counts(self) -> ScopedStatement:
        """Count the tenant's rows beside its memories: one row, for ``row_counts``."""
        return ScopedStatement.read(self._tenant, _ROW_COUNTS)

    def set(self, agent_id: str | None, limits: Mapping[LimitName, int | None]) -> ScopedStatement:
        """Set an agent's limits, or the tenant's; None puts the default back, ``UNLIMITED`` lifts the limit."""
        chosen: dict[str, Json] = dict(limits.items())
        return ScopedStatement.write(self._scope(agent_id), _SET, set=chosen)

    def clear(self, agent_id: str | None) -> ScopedStatement:
        """Put the default limits of an agent, or of the tenant, back."""
        return ScopedStatement.write(self._scope(agent_id), _CLEAR)

    @property
    def _tenant(self) -> Tenant:
        return Tenant(self.tenant_id)

    def _scope(self, agent_id: str | None) -> Scope:
        return Scope(self.tenant_id, agent_id or "")


@dataclass(frozen=True, slots=True)
class _Figures:
    agent_id: str
    memories: int
    bytes: int
    stores: int
    max_memories: int
    max_bytes: int
    max_stores: int


def usages(rows: Sequence[Row]) -> list[Usage]:
    """Return the usages from rows that ``Quotas`` read."""
    return [
        Usage(
            agent_id=row.agent_id or None,
            memories=row.memories,
            bytes=row.bytes,
            stores_this_minute=row.stores,
            limits=Limits(_limit(row.max_memories), _limit(row.max_bytes), _limit(row.max_stores)),
            bytes_by_tier=_by_tier(row.bytes, raw),
        )
        for row, raw in zip(read_rows(_Figures, rows), rows, strict=True)
    ]


def row_counts(row: Row) -> RowCounts:
    """Read the row that ``Quotas.row_counts`` reads."""
    core = {name: count for name, count in row.items() if name not in _KINDS}
    return replace(read_row(RowCounts, core), rows={kind: int(row[kind] or 0) for kind in _KINDS})


def check_room(rows: Sequence[Row], needed: Needed, *, leaving: int = 0) -> None:
    """Check that a write fits the quotas that ``Quotas`` read; ``leaving`` are bytes that are just leaving.

    Raises:
        QuotaExceeded: the write needs more than a quota has left.
    """
    over = [use for usage in usages(rows) for use in usage.without(leaving).exceeded_by(needed)]
    if over:
        raise exceeded(over, next_minute=int(rows[0]["next_minute"] or 0))


def _by_tier(total: int, row: Row) -> dict[str, int]:
    if f"{TIERS[0]}_bytes" not in row:
        return {}
    parts = {tier: int(row[f"{tier}_bytes"] or 0) for tier in TIERS}
    return {"long_term": total - sum(parts.values()), **parts}


def _limit(limit: int) -> int | None:
    return None if limit >= UNLIMITED else limit
