"""Reads and changes the settings of agents, which an administrator sets."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict

from app.domain import limits
from app.domain.canaries import RESERVED_AGENTS
from app.domain.json_types import Json
from app.domain.memory import Scope, Tenant
from app.ports.database import Row
from app.storage.rows import read_rows
from app.storage.scoped import ScopedStatement

ToolSet: TypeAlias = Literal["recall_store", "profile"]
"""Which tools an agent is given: recall_memory and store_memory, or remember, recall, forget and list."""
DEFAULT_TOOLS: ToolSet = "recall_store"

_DAY_SECONDS = 24 * 3600

_READ = f"""
SELECT agent.retention_seconds / {_DAY_SECONDS} AS retention_days, agent.long_term_enabled, agent.tools FROM agent
WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
"""
# A setting that the argument does not name stays as it is. A row is added while the tenant has fewer than ``most``.
_SET = """
INSERT INTO agent (tenant_id, agent_id, retention_seconds, long_term_enabled, tools)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'retention_seconds', coalesce(?1 ->> 'long_term_enabled', TRUE),
  coalesce(?1 ->> 'tools', ?1 ->> 'default_tools')
WHERE EXISTS (
    SELECT 1 FROM agent AS own
    WHERE own.tenant_id = ?1 ->> 'tenant_id' AND own.agent_id = ?1 ->> 'agent_id'
  )
  OR (SELECT count(*) FROM agent AS every WHERE every.tenant_id = ?1 ->> 'tenant_id') < ?1 ->> 'most'
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
  retention_seconds = iif(
    json_type(?1, '$.retention_seconds') IS NULL, agent.retention_seconds, excluded.retention_seconds
  ),
  long_term_enabled = coalesce(?1 ->> 'long_term_enabled', agent.long_term_enabled),
  tools = coalesce(?1 ->> 'tools', agent.tools)
RETURNING agent_id
"""


# Each half comes in the order of its primary key, so that no more is read than a page needs. The + has SQLite look each
# agent's newest and oldest memory up.
_LISTED = """
SELECT known.agent_id, coalesce(usage.memories, 0) AS memories, coalesce(usage.bytes, 0) AS bytes,
  (
    SELECT memory.created_at FROM long_term_memory AS memory INDEXED BY long_term_memory_newest
    WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = known.agent_id
    ORDER BY memory.created_at LIMIT 1
  ) AS first_stored_at,
  (
    SELECT memory.created_at FROM long_term_memory AS memory INDEXED BY long_term_memory_newest
    WHERE memory.tenant_id = ?1 ->> 'tenant_id' AND memory.agent_id = known.agent_id
    ORDER BY memory.created_at DESC LIMIT 1
  ) AS last_stored_at
FROM (
  SELECT counted.agent_id FROM usage AS counted
  WHERE counted.tenant_id = ?1 ->> 'tenant_id' AND counted.agent_id > ?1 ->> 'after'
    AND counted.agent_id NOT IN (SELECT value FROM json_each(?1 -> 'reserved'))
    AND (?1 ->> 'only' IS NULL OR counted.agent_id = ?1 ->> 'only')
  UNION
  SELECT agent.agent_id FROM agent
  WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id > ?1 ->> 'after'
    AND agent.agent_id NOT IN (SELECT value FROM json_each(?1 -> 'reserved'))
    AND (?1 ->> 'only' IS NULL OR agent.agent_id = ?1 ->> 'only')
  ORDER BY 1 LIMIT ?1 ->> 'limit'
) AS known
LEFT JOIN usage ON usage.tenant_id = ?1 ->> 'tenant_id' AND usage.agent_id = known.agent_id
ORDER BY known.agent_id
"""


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent of which something is kept, or that was set."""

    agent_id: str
    memories: int
    """With those that have expired and are not pruned yet."""
    bytes: int
    """Of all tiers together."""
    first_stored_at: int | None
    last_stored_at: int | None
    """When its newest memory was stored, ms since the epoch; None: it has none."""


class AgentChange(TypedDict, total=False):
    """New settings of an agent; a setting that is absent stays as it is."""

    retention_days: int | None
    long_term_enabled: bool
    tools: ToolSet


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of an agent."""

    retention_days: int | None = None
    """Days after which a memory expires where its store names no expiry; None: it never does."""
    long_term_enabled: bool = True
    """Whether the agent has a long-term memory; if not, it has no tools and can neither store nor recall."""
    tools: ToolSet = DEFAULT_TOOLS
    """Which tools the agent is given."""


@dataclass(frozen=True, slots=True)
class Agents:
    """Statements over the settings of one tenant's agents."""

    tenant_id: str

    def settings(self, agent_id: str) -> ScopedStatement:
        """Read an agent's settings; ``agent_settings`` reads the rows."""
        return ScopedStatement.read(Scope(self.tenant_id, agent_id), _READ)

    def page(self, only: str | None, *, limit: int, after: str) -> ScopedStatement:
        """Read the next agents in the order of their ids, or with ``only`` that agent: rows of ``KnownAgent``."""
        reserved = sorted(RESERVED_AGENTS)
        return ScopedStatement.read(
            Tenant(self.tenant_id), _LISTED, only=only, limit=limit, after=after, reserved=reserved
        )

    def set(self, agent_id: str, change: AgentChange) -> ScopedStatement:
        """Change an agent's settings; returns no row where the tenant may have settings of no more agents."""
        values: dict[str, Json] = {"most": limits.MAX_AGENT_SETTINGS, "default_tools": DEFAULT_TOOLS}
        if "retention_days" in change:
            days = change["retention_days"]
            values["retention_seconds"] = None if days is None else days * _DAY_SECONDS
        if "long_term_enabled" in change:
            values["long_term_enabled"] = change["long_term_enabled"]
        if "tools" in change:
            values["tools"] = change["tools"]
        return ScopedStatement.write(Scope(self.tenant_id, agent_id), _SET, repeatable=True, **values)


def agent_settings(rows: list[Row]) -> AgentSettings:
    """Read an agent's settings; an agent without a row has the defaults."""
    return next(iter(read_rows(AgentSettings, rows)), AgentSettings())
