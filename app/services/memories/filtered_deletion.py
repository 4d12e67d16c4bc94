"""Deletes the memories of one agent that pass a filter, once their number was confirmed."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from app.domain import limits
from app.domain.errors import Conflict, FieldError
from app.domain.memory import Scope, Tenant
from app.domain.query import Filter
from app.services.tenant.backends import TenantBackends
from app.storage import request_state
from app.storage.filtered import MAX_CHUNK, MAX_COUNTED, FilteredMemories

MAX_CHUNKS = 4
"""Chunks that one call deletes; where memories are left, the result says so."""
MAX_NAMED = 20
"""How many memories a forecast names."""


@dataclass(frozen=True, slots=True)
class FilteredForecast:
    """What a deletion would delete."""

    memories: int
    at_least: bool
    """Whether there are more than are counted."""
    memory_ids: Sequence[str]
    """The oldest of them, at most ``MAX_NAMED``."""


@dataclass(frozen=True, slots=True)
class FilteredDeletion:
    """What one call has deleted, and what is left."""

    memories: int
    """Memories that were deleted, with those that were learned of them."""
    left: int
    """How many pass the filter still: confirm this number to go on."""


class FilteredDeletions:
    """Deletes memories of one tenant, bound here, by a filter."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def forecast(self, agent_id: str, where: Filter, written_by: str | None = None) -> FilteredForecast:
        """Count what a deletion would delete, and name the oldest; nothing is changed.

        Raises:
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer.
        """
        chosen = self._chosen(agent_id, where, written_by)
        (counted,), named = await self._backends.data.database.run([chosen.count(), chosen.ids(MAX_NAMED)])
        memories = int(counted["memories"] or 0)
        return FilteredForecast(memories, memories == MAX_COUNTED, [str(row["id"]) for row in named])

    async def delete(
        self, agent_id: str, where: Filter, written_by: str | None = None, *, confirm: int
    ) -> FilteredDeletion:
        """Delete the memories that pass, where they are ``confirm`` by number: at most 2,000 of them in one call.

        Once this returns no recall finds those that are gone; the indexer removes their vectors. What was stored after
        they were counted stays, also where another request deletes some of them meanwhile.

        Raises:
            Conflict: there are more or fewer than was confirmed; nothing was deleted.
            InvalidRequest: a field is over its limits.
            Unavailable: the database does not answer; some may be deleted, and asking again is safe.
        """
        chosen = self._chosen(agent_id, where, written_by)
        ((counted,),) = await self._backends.data.database.run([chosen.count()])
        before, until = int(counted["memories"] or 0), int(counted["newest"] or 0)
        if before != confirm:
            message = f"is not their number, which is {before} now"
            raise Conflict(f"confirm {message}. Look at them again.", errors=[FieldError("confirm", message)])
        run, deleted, looked_at = self._backends.data.database.run, 0, 0
        for _ in range(MAX_CHUNKS):
            (rows,) = await run([chosen.ids(min(MAX_CHUNK, confirm - looked_at), until)])
            if not rows:
                break
            looked_at += len(rows)
            ids, now = [str(row["id"]) for row in rows], self._backends.clock()
            state = request_state.read(Tenant(self._backends.tenant_id))
            *_, gone, (seen,) = await run([*chosen.delete(ids, self._backends.author, now=now), state])
            self._backends.data.observe(seen)
            deleted += len(gone)
            if looked_at >= confirm:
                break
        left = (await self.forecast(agent_id, where, written_by)).memories
        structlog.get_logger().info("memories_deleted", memories=deleted, left=left)
        return FilteredDeletion(deleted, left)

    def _chosen(self, agent_id: str, where: Filter, written_by: str | None) -> FilteredMemories:
        limits.check(
            ("agent_id", limits.AGENT_ID, agent_id),
            ("written_by", limits.CREDENTIAL_ID, written_by),
            ("filter.metadata", limits.FILTER_METADATA, where.metadata),
        )
        return FilteredMemories(Scope(self._backends.tenant_id, agent_id), where, written_by)
