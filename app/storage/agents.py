"""What an administrator has set for an agent."""

from dataclasses import dataclass
from typing import TypedDict

from app.domain.json_types import Json
from app.ports.database import NOW, Row, Statement

_DAY_SECONDS = 24 * 3600

EXPIRES_AT = f"""coalesce(?1 ->> 'expires_at', (
    SELECT {NOW} + agent.retention_seconds * 1000 FROM agent
    WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
  ))"""
"""When a memory that is stored now expires: as the store says, else as its agent is set; NULL: never."""

_COLUMNS = "agent.retention_seconds, agent.long_term_enabled"
_READ = f"""
SELECT {_COLUMNS} FROM agent
WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
"""
# What the argument does not name stays as it is.
_SET = """
INSERT INTO agent (tenant_id, agent_id, retention_seconds, long_term_enabled)
VALUES (
  ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'retention_seconds', coalesce(?1 ->> 'long_term_enabled', TRUE)
)
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET
  retention_seconds = iif(
    json_type(?1, '$.retention_seconds') IS NULL, agent.retention_seconds, excluded.retention_seconds
  ),
  long_term_enabled = coalesce(?1 ->> 'long_term_enabled', agent.long_term_enabled)
"""


class AgentChange(TypedDict, total=False):
    """What an agent is to be set to; what is absent stays as it was."""

    retention_days: int | None
    long_term_enabled: bool


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What an agent is set to."""

    retention_days: int | None = None
    """How long its memories live where a store does not say; None: for ever."""
    long_term_enabled: bool = True
    """Whether it has a long-term memory: without, it has no tools, and may neither store nor recall."""


@dataclass(frozen=True, slots=True)
class Agents:
    """Statements over what one tenant's agents are set to. The tenant is bound here, once."""

    tenant_id: str

    def settings(self, agent_id: str) -> Statement:
        """Read an agent's settings, for ``agent_settings``; no row where nothing was set."""
        return Statement(_READ, {"tenant_id": self.tenant_id, "agent_id": agent_id})

    def set(self, agent_id: str, change: AgentChange) -> Statement:
        """Change what an agent is set to."""
        argument: dict[str, Json] = {"tenant_id": self.tenant_id, "agent_id": agent_id}
        if "retention_days" in change:
            days = change["retention_days"]
            argument["retention_seconds"] = None if days is None else days * _DAY_SECONDS
        if "long_term_enabled" in change:
            argument["long_term_enabled"] = change["long_term_enabled"]
        return Statement(_SET, argument, writes=True, repeatable=True)


def agent_settings(rows: list[Row]) -> AgentSettings:
    """Make settings of what was read."""
    if not rows:
        return AgentSettings()
    seconds = rows[0]["retention_seconds"]
    days = None if seconds is None else int(seconds) // _DAY_SECONDS
    return AgentSettings(days, long_term_enabled=bool(rows[0]["long_term_enabled"]))
