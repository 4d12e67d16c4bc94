"""Marks memories of one agent as forgotten, and takes the mark away; nothing else of the memory changes."""

from app.domain.author import Author
from app.domain.errors import Forbidden, Superseded
from app.domain.memory import Memory
from app.services.tenant.agent_database import AgentDatabase
from app.storage.forgetting import forget, unforget


class Forgetting:
    """Marks memories of one agent in the name of one author, both bound here."""

    def __init__(self, database: AgentDatabase, author: Author, now: int) -> None:
        """Bind the agent, the author, and the moment of the mark (ms since the epoch)."""
        self._database = database
        self._author = author
        self._now = now

    async def forget(self, memory_id: str) -> Memory:
        """Mark a memory as forgotten; raises as ``ProfileService.forget`` does."""
        await self._check_author(memory_id)
        run = forget(self._database.scope, memory_id, self._author, now=self._now)
        *_, holders, found = await self._database.run([*run, self._database.one(memory_id)])
        memory = self._database.memory(found)
        if memory.forgotten_at is None and holders and holders[0]["holder"] is not None:
            raise Superseded(str(holders[0]["holder"]))
        return memory

    async def unforget(self, memory_id: str) -> Memory:
        """Take a memory's mark away; raises as ``ProfileService.unforget`` does."""
        await self._check_author(memory_id)
        run = unforget(self._database.scope, memory_id, self._author, now=self._now)
        *_, found = await self._database.run([*run, self._database.one(memory_id)])
        return self._database.memory(found)

    async def _check_author(self, memory_id: str) -> None:
        """Check that an author who is bound to speakers may speak for the speaker whom the memory names.

        Raises:
            Forbidden: the author may not.
            NotFound: there is no such memory.
        """
        if self._author.speakers is None:
            return
        (found,) = await self._database.run([self._database.one(memory_id)])
        memory = self._database.memory(found)
        if not self._author.may_speak_in(memory.content, memory.metadata):
            raise Forbidden("The credential is bound to speakers, and another one speaks in this memory.")
