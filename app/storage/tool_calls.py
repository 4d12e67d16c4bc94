"""The database as a call of a tool sees it: the call's first run also checks whether the agent is given the tool.

So the check costs no further run of the database, and no call does anything with a tool that was taken away.
"""

from collections.abc import Sequence

from app.domain.memory import Scope
from app.ports.database import Row, RunRefused
from app.storage.agents import DEFAULT_TOOLS, ToolSet
from app.storage.scoped import ScopedStatement, TenantDatabase

_READ = """
SELECT coalesce(
  (SELECT agent.tools FROM agent WHERE agent.tenant_id = ?1 ->> 'tenant_id' AND agent.agent_id = ?1 ->> 'agent_id'),
  ?1 ->> 'default_tools'
) AS tools
"""
# A trigger of the schema checks the agent's tools: should the run stop behind this statement, nothing has happened.
_ADMIT = """
INSERT INTO tool_call (tenant_id, agent_id, tools) VALUES (?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'tools')
"""


class ToolNotGiven(Exception):
    """The agent is given other tools than the one that is called; nothing was read or written."""


class ToolCallDatabase(TenantDatabase):
    """A tenant's database for one call of a tool that is in a set."""

    def __init__(self, below: TenantDatabase, scope: Scope, tools: ToolSet) -> None:
        """Bind the agent and the set; ``below`` runs the statements that this database is given."""
        self._below = below
        self._scope = scope
        self._tools = tools
        self._given = False

    @property
    def history_days(self) -> int:
        """For how many days the database below can be restored."""
        return self._below.history_days

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run the statements, the first time together with the check; raises as ``TenantDatabase.run`` does.

        Raises:
            ToolNotGiven: the agent is given other tools; nothing was changed.
        """
        if self._given:
            return await self._below.run(statements)
        writes = any(statement.writes for statement in statements)
        try:
            checked, *results = await self._below.run([self._admit() if writes else self._read(), *statements])
        except RunRefused as refusal:
            if refusal.reason == "not_given":
                raise ToolNotGiven from refusal
            raise
        if not writes and checked[0]["tools"] != self._tools:
            raise ToolNotGiven
        self._given = True
        return results

    def _admit(self) -> ScopedStatement:
        return ScopedStatement.write(self._scope, _ADMIT, tools=self._tools)

    def _read(self) -> ScopedStatement:
        return ScopedStatement.read(self._scope, _READ, default_tools=DEFAULT_TOOLS)
