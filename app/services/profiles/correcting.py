"""Corrects memories: stores what holds now, and states that it replaces the memory that does not."""

from dataclasses import replace
from math import inf

from app.domain import limits
from app.domain.errors import FieldError, Forbidden, InvalidRequest, NotFound, Superseded
from app.domain.facts import FACT_KEY
from app.domain.memory import STORE_KEY, Memory, NewMemory, Scope
from app.domain.moments import DAY_MS
from app.retrieval.query.periods import LATEST
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.memories.lookup import Lookup
from app.services.profiles.profile import ProfileService
from app.services.tenant.backends import TenantBackends
from app.services.tenant.screening import Screening
from app.storage.corrections import correct, of_newer, take_back


class Corrections:
    """Corrects memories of one tenant, bound here, and takes that back."""

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends."""
        self._backends = backends

    async def correct(self, agent_id: str, memory_id: str, content: str, at: int) -> str:
        """Store what holds in place of a memory, and return the new memory's id. No recall finds the old one from then.

        The new memory has the metadata of the old one and its expiry, and happened at the moment ``at`` (ms since the
        epoch): the same correction of the same moment is made once. It is of no session, so that it stays when the
        session's memories are taken back.

        Raises:
            NotFound: the agent has no such memory.
            Superseded: another memory holds in place of this one.
            Forbidden: the credential is bound to speakers, and another one speaks in the memory.
            InvalidRequest: the content is the same, or over its limits; or a program keeps the memory for itself.
            QuotaExceeded, LongTermDisabled, Erasing, Unavailable: as a store does; nothing was written, or the new
                memory alone, and asking again is safe.
        """
        content = await self._backends.screened(content, "content")
        found = await Lookup(self._backends).one(agent_id, memory_id)
        if found is None or (found.memory.expires_at or inf) <= self._backends.clock():
            raise NotFound("The agent has no such memory.")
        old = found.memory
        if found.holder is not None:
            return await self._made_before(agent_id, found.holder, content)
        self._check(old, content)
        at = min(max(min(at, self._backends.clock()), _happened_at(old) + 1), LATEST)
        metadata = {key: value for key, value in old.metadata.items() if key != FACT_KEY}
        new = NewMemory(content, metadata, occurred_at=at, expires_at=old.expires_at)
        screened = replace(self._backends, screening=Screening())  # its other fields are those of what is there
        new_id = await LongTermMemoryGateway(screened).store(agent_id, new)
        now = self._backends.clock()
        await self._backends.data.database.run(correct(old.scope, memory_id, new_id, self._backends.author, now=now))
        if self._is_ahead(old):
            await ProfileService(self._backends).forget(agent_id, memory_id)
        return new_id

    async def corrected_by(self, agent_id: str, memory_id: str) -> str | None:
        """Return the id of the memory that a memory corrects; None: it corrects none.

        Raises:
            InvalidRequest: an id is malformed.
            Unavailable: the database does not answer.
        """
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("memory_id", limits.MEMORY_ID, memory_id))
        scope = Scope(self._backends.tenant_id, agent_id)
        (rows,) = await self._backends.data.database.run([of_newer(scope, memory_id)])
        return str(rows[0]["older_id"]) if rows else None

    async def take_back(self, agent_id: str, memory_id: str) -> str:
        """Take a correction back: its memory is forgotten, and the one that it corrects, whose id is returned, holds.

        Raises:
            NotFound: the agent has no such memory, or it corrects none.
            Forbidden, LongTermDisabled, Unavailable: as ``ProfileService.forget`` does.
        """
        old_id = await self.corrected_by(agent_id, memory_id)
        if old_id is None:
            raise NotFound("The memory corrects no other.")
        await ProfileService(self._backends).forget(agent_id, memory_id)
        scope, now = Scope(self._backends.tenant_id, agent_id), self._backends.clock()
        await self._backends.data.database.run(take_back(scope, old_id, memory_id, self._backends.author, now=now))
        old = await Lookup(self._backends).one(agent_id, old_id)
        if old is not None and self._is_ahead(old.memory):
            await ProfileService(self._backends).unforget(agent_id, old_id)
        return old_id

    def _is_ahead(self, memory: Memory) -> bool:
        """Tell whether a memory is dated so far ahead that its successor does not hold yet: only a mark hides it."""
        return _happened_at(memory) >= self._backends.clock() + DAY_MS

    async def _made_before(self, agent_id: str, holder: str, content: str) -> str:
        """Return the holder where it is this correction, made before; else raise ``Superseded``."""
        held = await Lookup(self._backends).one(agent_id, holder)
        if held is None or held.memory.content != content:
            raise Superseded(holder)
        return holder

    def _check(self, old: Memory, content: str) -> None:
        if STORE_KEY in old.metadata:
            raise InvalidRequest("A program keeps this memory for itself, and only the program changes it.")
        if not self._backends.author.may_speak_in(old.content, old.metadata):
            raise Forbidden("The credential is bound to speakers, and another one speaks in this memory.")
        if content == old.content:
            message = "is what the memory says already"
            raise InvalidRequest(f"content {message}.", errors=[FieldError("content", message)])


def _happened_at(memory: Memory) -> int:
    return memory.created_at if memory.occurred_at is None else memory.occurred_at
