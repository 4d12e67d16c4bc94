"""Deletes sessions of one tenant's agents, with everything that was remembered of them."""

from dataclasses import dataclass

import structlog

from app.domain.memory import Scope, Tenant
from app.services.tenant.backends import TenantBackends
from app.storage import request_state
from app.storage.sessions import delete_chunk

MAX_CHUNKS = 4
"""Of one call; where there is more, its result says so."""


@dataclass(frozen=True, slots=True)
class SessionDeletion:
    """What one call has deleted of a session."""

    memories: int
    messages: int
    """That were no memories yet."""
    more: bool
    """Whether there is more: delete it again."""


class Sessions:
    """Deletes sessions of one tenant, bound here."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take what the tenant's services work with."""
        self._backends = backends

    async def delete(self, scope: Scope, session_id: str, *, undone: bool = False) -> SessionDeletion:
        """Delete the memories of a session, and its messages that are no memories yet; no recall finds them any more.

        The indexer removes their vectors. ``undone``: the audit says that what the session has taught was undone.

        Raises:
            Unavailable: the database does not answer; some may be deleted, and deleting again is safe.
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
