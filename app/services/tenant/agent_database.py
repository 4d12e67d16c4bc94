"""The database for one agent's requests: it refuses them while the agent's long-term memory is switched off."""

from collections.abc import Sequence

from app.domain import limits
from app.domain.errors import LongTermDisabled, NotFound
from app.domain.memory import Memory, Scope
from app.ports.database import Row
from app.services.tenant.backends import TenantBackends
from app.storage import request_state
from app.storage.listing import MemoryListing
from app.storage.rows import read_memory
from app.storage.scoped import ScopedStatement


class AgentDatabase:
    """Runs statements of one agent, bound here."""

    def __init__(self, backends: TenantBackends, agent_id: str) -> None:
        """Bind the agent.

        Raises:
            InvalidRequest: the agent's id is malformed.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id))
        self.scope = Scope(backends.tenant_id, agent_id)
        self._backends = backends

    async def run(self, statements: Sequence[ScopedStatement]) -> list[list[Row]]:
        """Run the statements as one transaction and return the rows of each statement.

        Raises:
            LongTermDisabled: the agent's long-term memory is switched off. The run is made all the same: a statement
                that writes has to check the switch itself.
            Unavailable: the database does not answer.
        """
        state_first = [request_state.read_for_recall(self.scope), *statements]
        (state,), *results = await self._backends.data.database.run(state_first)
        self._backends.data.observe(state)
        if state["disabled"]:
            raise LongTermDisabled
        return results

    def one(self, memory_id: str) -> ScopedStatement:
        """Return the statement that reads one of the agent's memories, for ``memory``."""
        return MemoryListing(self.scope.tenant_id).one(self.scope.agent_id, memory_id)

    def memory(self, rows: Sequence[Row]) -> Memory:
        """Return the memory of the only row.

        Raises:
            NotFound: there is no row.
        """
        if not rows:
            raise NotFound("The profile has no such memory.")
        return read_memory(self.scope.tenant_id, rows[0])
