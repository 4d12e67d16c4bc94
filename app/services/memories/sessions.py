"""Deletes sessions of one tenant's agents, with their memories."""

from dataclasses import dataclass

import structlog

from app.domain.memory import Scope, Tenant
from app.services.tenant.backends import TenantBackends
from app.storage import request_state
from app.storage.sessions import delete_chunk

MAX_CHUNKS = 4
"""Chunks that one call deletes; where memories or messages are left, the result says so."""


@dataclass(frozen=True, slots=True)
class SessionDeletion:
    """Counts of the rows of a session that one call has deleted."""

    memories: int
    messages: int
    """Messages that were no memories yet."""
    more: bool
    """Whether memories or messages are left: delete the session again."""


class Sessions:
    """Deletes sessions of one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def delete(self, scope: Scope, session_id: str, *, undone: bool = False) -> SessionDeletion:
        """Delete the memories of a session, and its messages that are no memories yet; no recall finds them any more.

        The indexer removes their vectors. With ``undone`` the audit says that the session's memories were undone.

        Raises:
            Unavailable: the database does not answer; some memories may be deleted, and deleting again is safe.
        """
        memories = messages = 0
        more = True
        for _ in range(MAX_CHUNKS):
            chunk = delete_chunk(scope, session_id, self._backends.author, now=self._backends.clock(), undone=undone)
            state = request_state.read(Tenant(scope.tenant_id))
            turns, staged, *_, deleted, (progress,), (seen,) = await self._backends.data.database.run([*chunk, state])
            self._backends.data.observe(seen)
            memories, messages = memories + len(deleted), messages + len(turns) + len(staged)
            more = bool(progress["more"])
            if not more:
                break
        structlog.get_logger().info("session_deleted", memories=memories, messages=messages, more=more)
        return SessionDeletion(memories, messages, more)
