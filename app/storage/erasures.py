"""Accepts and reads erasures of an agent or of a whole tenant, which the indexer carries out in chunks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from app.domain import limits
from app.domain.json_types import to_json
from app.domain.memory import Tenant, owner_of
from app.ports.database import NOW, Row
from app.storage.rows import read_row
from app.storage.scoped import ScopedStatement
from app.storage.tiers.tables import TIER_TABLES, TierTable

LAST_AGENT = "\U0010ffff"
"""A text behind which no agent id sorts."""

_DAY_MS = 24 * 3600 * 1000
_COLUMNS = "erasure.id, erasure.agent_id, erasure.accepted_at, erasure.memories, erasure.receipt"

_UNDER_WAY = """
FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id'
  AND (erasure.agent_id IS NULL OR erasure.agent_id = ?1 ->> 'agent_id') AND erasure.receipt IS NULL
"""
_ACCEPT = f"""
INSERT INTO erasure (id, tenant_id, agent_id, accepted_at, advanced_at)
SELECT ?1 ->> 'id', ?1 ->> 'tenant_id', ?1 ->> 'agent_id', {NOW}, {NOW} WHERE NOT EXISTS (SELECT 1 {_UNDER_WAY})
ON CONFLICT DO NOTHING
"""
# A scope is a range of agents, which every index that begins with the tenant and the agent can search: the agent's own
# id is both ends, or the range has all ids of the tenant.
OF_SCOPE = """
{table}.tenant_id = ?1 ->> 'tenant_id' AND {table}.agent_id BETWEEN ?1 ->> 'first_agent' AND ?1 ->> 'last_agent'
"""
OF_WHOLE_TENANT = "{table}.tenant_id = ?1 ->> 'tenant_id' AND ?1 ->> 'first_agent' = ''"
"""Rows that belong to all agents go with the tenant alone."""
NAMES_SCOPE = """
{table}.tenant_id = ?1 ->> 'tenant_id'
  AND coalesce({table}.agent_id, '') BETWEEN ?1 ->> 'first_agent' AND ?1 ->> 'last_agent'
"""
"""Rows that belong to all agents go with the agent that they name, too."""


_WITH_PARENT = """
({scope} OR ({table}.tenant_id, {table}.{of}) IN (
  SELECT gone.tenant_id, gone.id FROM agent_runs AS gone
  WHERE gone.tenant_id = ?1 ->> 'tenant_id' AND gone.parent_gone = 1
))
"""


def scope_of(tier: TierTable, table: str | None = None) -> str:
    """Return the condition that a row of a tier belongs to the scope; ``table`` is the tier's name in the statement.

    A run whose parent was deleted belongs to every scope of the tenant, with its tool calls, whichever agent's it was.
    """
    whole = NAMES_SCOPE if tier.names_agent else OF_WHOLE_TENANT
    scope = (OF_SCOPE if tier.of_agent else whole).format(table=table or tier.table)
    of = {"agent_runs": "id", "tool_call_log": "run_id"}.get(tier.table)
    return scope if of is None else _WITH_PARENT.format(scope=scope, table=table or tier.table, of=of)


# Every write of a memory leaves a row of usage, which stays until an erasure has proved that the index shows nothing of
# the scope. So where there is none, and nothing of the scope is being erased, the index holds nothing either.
_NOTHING_IS_HELD = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} WHERE {OF_SCOPE.format(table=table)})"
    for table in (
        "usage",
        "long_term_memory",
        "outbox",
        "idempotency",
        "agent",
        "message",
        "ingestion",
        "profile",
    )
)
_NOTHING_OF_THE_TIERS = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {tier.table} WHERE {scope_of(tier)})" for tier in TIER_TABLES
)
_NOTHING_OF_THE_TENANT = """
(?1 ->> 'first_agent' <> '' OR NOT EXISTS (
  SELECT 1 FROM namespace WHERE namespace.tenant_id = ?1 ->> 'tenant_id'
) AND NOT EXISTS (
  SELECT 1 FROM model_spend WHERE model_spend.tenant_id = ?1 ->> 'tenant_id'
))
"""
KINDS = (
    *("memories", "outbox_rows", "dead_letters", "idempotency_keys", "messages"),
    *(tier.kind for tier in TIER_TABLES if tier.counted),
)
"""The kinds of rows that a receipt counts. A receipt that is older than a kind does not name the kind."""
_FINISH_WHERE_NOTHING_IS_HELD = f"""
UPDATE erasure SET receipt = json_object(
  'finished_at', {NOW},
  'erased', json('{to_json(dict.fromkeys(KINDS, 0))}'),
  'found_by_id', 0, 'found_by_search', 0, 'history_until', {NOW} + ?1 ->> 'history_ms'
)
WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id' AND erasure.receipt IS NULL
  AND {_NOTHING_IS_HELD} AND {_NOTHING_OF_THE_TIERS} AND {_NOTHING_OF_THE_TENANT}
  AND NOT EXISTS (
    SELECT 1 FROM erasure AS other
    WHERE {OF_SCOPE.format(table="other")} AND other.receipt IS NULL AND other.id <> ?1 ->> 'id'
  )
"""
_DROP_OLDEST_RECEIPTS = f"""
DELETE FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.receipt IS NOT NULL
  AND erasure.accepted_at < (
    SELECT kept.accepted_at FROM erasure AS kept
    WHERE kept.tenant_id = ?1 ->> 'tenant_id' AND kept.receipt IS NOT NULL
    ORDER BY kept.accepted_at DESC LIMIT 1 OFFSET {limits.MAX_RECEIPTS - 1}
  )
"""
_READ_ACCEPTED = f"""
SELECT {_COLUMNS} FROM (
  SELECT erasure.*, 0 AS place FROM erasure
  WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'
  UNION ALL
  SELECT erasure.*, 1 + (erasure.agent_id IS NULL) AS place {_UNDER_WAY}
) AS erasure
ORDER BY erasure.place LIMIT 1
"""
_READ_RUNNING = f"SELECT {_COLUMNS} {_UNDER_WAY} ORDER BY erasure.agent_id IS NULL LIMIT 1"
_READ = f"""
SELECT {_COLUMNS} FROM erasure WHERE erasure.tenant_id = ?1 ->> 'tenant_id' AND erasure.id = ?1 ->> 'id'
  AND (?1 ->> 'only_agent' IS NULL OR erasure.agent_id = ?1 ->> 'only_agent')
"""

_NEWEST = f"""
SELECT {_COLUMNS} FROM erasure INDEXED BY erasure_of_tenant WHERE erasure.tenant_id = ?1 ->> 'tenant_id'
  AND (?1 ->> 'only_agent' IS NULL OR erasure.agent_id = ?1 ->> 'only_agent')
ORDER BY erasure.accepted_at DESC, erasure.id DESC LIMIT ?1 ->> 'limit'
"""


@dataclass(frozen=True, slots=True)
class Erasure:
    """The state of an erasure: ``agent_id`` is None where it erases the tenant, ``receipt`` until it is finished."""

    id: str
    agent_id: str | None
    accepted_at: int
    memories: int
    receipt: Mapping[str, Any] | None

    @property
    def status(self) -> Literal["running", "done"]:
        """Whether the erasure is finished."""
        return "running" if self.receipt is None else "done"


@dataclass(frozen=True, slots=True)
class Erasures:
    """Statements over one tenant's erasures."""

    tenant_id: str

    def accept(self, erasure_id: str, agent_id: str | None, *, history_days: int) -> list[ScopedStatement]:
        """Begin an erasure unless one that covers it is under way; the last statement returns it, or the one under way.

        The erasure of a scope that holds nothing is finished at once, with its receipt.
        """
        scope = owner_of(self.tenant_id, agent_id)
        make = partial(
            ScopedStatement.write,
            scope,
            id=erasure_id,
            first_agent=agent_id or "",
            last_agent=agent_id or LAST_AGENT,
            history_ms=history_days * _DAY_MS or None,
        )
        changes = (_ACCEPT, _FINISH_WHERE_NOTHING_IS_HELD, _DROP_OLDEST_RECEIPTS)
        return [*map(make, changes), ScopedStatement.read(scope, _READ_ACCEPTED, id=erasure_id)]

    def under_way(self, agent_id: str | None) -> ScopedStatement:
        """Read the erasure under way that covers the agent, or with None the tenant; no row where there is none."""
        scope = owner_of(self.tenant_id, agent_id)
        return ScopedStatement.read(scope, _READ_RUNNING)

    def read(self, erasure_id: str, only_agent: str | None) -> ScopedStatement:
        """Read an erasure of the tenant; with ``only_agent``, only one of that agent."""
        return ScopedStatement.read(Tenant(self.tenant_id), _READ, id=erasure_id, only_agent=only_agent)

    def newest(self, only_agent: str | None, limit: int) -> ScopedStatement:
        """Read the tenant's newest erasures; with ``only_agent``, only those of that agent."""
        return ScopedStatement.read(Tenant(self.tenant_id), _NEWEST, only_agent=only_agent, limit=limit)


def erasure(row: Row) -> Erasure:
    """Read a row of an erasure."""
    return read_row(Erasure, row)
