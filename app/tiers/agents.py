"""What an administrator has set for an agent."""

from dataclasses import dataclass

from app.model import Json
from app.ports.database import NOW, Row, Statement

_DAY_SECONDS = 24 * 3600

EXPIRES_AT = f"""coalesce(?1 ->> 'expires_at', (
    SELECT {NOW} + agent.retention_seconds * 1000 FROM agent
    WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
  ))"""
"""When a memory that is stored now expires: as the store says, else as its agent is set; NULL: never."""

_READ = """
SELECT agent.retention_seconds FROM agent
WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'
"""
_SET = """
INSERT INTO agent (tenant_id, agent_id, retention_seconds)
VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'retention_seconds')
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET retention_seconds = excluded.retention_seconds
"""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How long an agent's memories live where a store does not say; None: for ever."""

    retention_days: int | None = None


@dataclass(frozen=True, slots=True)
class Agents:
    """Statements over what one tenant's agents are set to. The tenant is bound here, once."""

    tenant_id: str

    def settings(self, agent_id: str) -> Statement:
        """Read an agent's settings, for ``agent_settings``; no row where nothing was set."""
        return Statement(_READ, {"tenant_id": self.tenant_id, "agent_id": agent_id})

    def set(self, agent_id: str, settings: AgentSettings) -> Statement:
        """Set an agent."""
        days = settings.retention_days
        argument: dict[str, Json] = {
            "tenant_id": self.tenant_id,
            "agent_id": agent_id,
            "retention_seconds": None if days is None else days * _DAY_SECONDS,
        }
        return Statement(_SET, argument, writes=True, repeatable=True)


def agent_settings(rows: list[Row]) -> AgentSettings:
    """Make settings of what was read."""
    seconds = rows[0]["retention_seconds"] if rows else None
    return AgentSettings(None if seconds is None else int(seconds) // _DAY_SECONDS)
