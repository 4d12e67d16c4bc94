"""Reads and changes the settings of agents, which an administrator sets."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict

from app.domain import limits
from app.domain.json_types import Json
from app.domain.memory import Scope
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
