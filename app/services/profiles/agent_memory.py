"""Serves profiles by the names of Cloudflare's Agent Memory: a name leads to an agent, whose profile is asked.

https://developers.cloudflare.com/agent-memory/api/http-api/#profiles
"""

from collections.abc import Sequence

from app.domain.claim import MemoryType
from app.domain.errors import NotFound, QuotaExceeded, Unavailable
from app.domain.memory import Memory
from app.domain.messages import NewMessage
from app.domain.profile_answers import ProfileRecall, ResponseLength, ThinkingLevel
from app.domain.profiles import ProfileName
from app.services.ingest.ingester import Ingester
from app.services.memories.gateway import LongTermMemoryGateway
from app.services.profiles.namespaces import Namespaces
from app.services.profiles.profile import ProfileService
from app.services.tenant.backends import TenantBackends
from app.storage.declared import ListPage
from app.storage.listing import ListPosition


class AgentMemory:
    """Serves the profiles of one tenant, bound here, by their names.

    A profile exists once it was written to. Where a read finds memories the profile exists, so a read looks for the
    names only where it finds none.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the tenant's backends; they bind the tenant."""
        self._backends = backends
        self._names = Namespaces(backends)
        self._profiles = ProfileService(backends)
        self._ingester = Ingester(backends)

    async def ingest(self, profile: ProfileName, messages: Sequence[NewMessage], session_id: str | None) -> None:
        """Take messages and make memories of them; where that takes long, the work goes on after this call.

        Raises:
            QuotaExceeded, Unavailable: some messages were not stored; ingesting them all again is safe.
            MemoryGatewayError: as ``Namespaces.writing`` and ``Ingester.ingest`` do.
        """
        async with self._names.writing(profile):
            ingestion = await self._ingester.ingest(profile.agent_id, messages, session_id)
        codes = [item.code for item in ingestion.items if item.status == "failed"]
        if codes:
            raise _incomplete(len(codes), len(messages), codes[0] or "")

    async def remember(self, profile: ProfileName, content: str, *, session_id: str | None) -> Memory:
        """Store a memory and return it. Raises as ``Namespaces.writing`` and ``ProfileService.remember`` do."""
        async with self._names.writing(profile):
            return await self._profiles.remember(profile.agent_id, content, session_id=session_id)

    async def recall(
        self,
        profile: ProfileName,
        query: str,
        *,
        reference_time: int | None,
        length: ResponseLength,
        thinking: ThinkingLevel,
    ) -> ProfileRecall:
        """Answer a query.

        Raises:
            NotFound: there is no such namespace or profile.
            MemoryGatewayError: as ``ProfileService.recall`` does.
        """
        recall = await self._profiles.recall(
            profile.agent_id, query, reference_time=reference_time, length=length, thinking=thinking
        )
        if not recall.entries:
            await self._names.check(profile)
        return recall

    async def list(
        self,
        profile: ProfileName,
        *,
        limit: int,
        after: ListPosition | None,
        session_id: str | None,
        type: MemoryType | None,  # noqa: A002 - the name that the field has everywhere
    ) -> ListPage[Memory]:
        """Return the next memories that hold, newest first.

        Raises:
            NotFound: there is no such namespace or profile.
            MemoryGatewayError: as ``ProfileService.list`` does.
        """
        page = await self._profiles.list(profile.agent_id, limit=limit, after=after, session_id=session_id, type=type)
        if not page.items:
            await self._names.check(profile)
        return page

    async def get(self, profile: ProfileName, memory_id: str) -> Memory:
        """Return one memory, which may be superseded. A forgotten memory counts as missing.

        Raises as ``ProfileService.get`` does.
        """
        memory = (await self._profiles.get(profile.agent_id, memory_id)).memory
        if memory.forgotten_at is not None:
            raise NotFound("memory not found")
        return memory

    async def delete(self, profile: ProfileName, memory_id: str) -> Memory:
        """Delete a memory, with its message, and return the memory as it was.

        Raises as ``ProfileService.get`` and ``LongTermMemoryGateway.delete`` do.
        """
        memory = (await self._profiles.get(profile.agent_id, memory_id)).memory
        await LongTermMemoryGateway(self._backends).delete(profile.agent_id, memory_id)
        return memory

    async def summary(self, profile: ProfileName, session_id: str | None) -> str:
        """Return Markdown that sums up the profile's memories, of one session or of all.

        Raises:
            NotFound: there is no such namespace or profile.
            MemoryGatewayError: as ``ProfileService.summary`` does.
        """
        summary = await self._profiles.summary(profile.agent_id, session_id)
        if not summary.text:
            await self._names.check(profile)
        return summary.text

    async def delete_session(self, profile: ProfileName, session_id: str) -> None:
        """Delete the memories of a session and its messages; a missing session is no error.

        Raises:
            NotFound: there is no such namespace or profile.
            MemoryGatewayError: as ``ProfileService.delete_session`` does.
        """
        await self._names.check(profile)
        while (await self._profiles.delete_session(profile.agent_id, session_id)).more:
            continue


def _incomplete(failed: int, sent: int, code: str) -> QuotaExceeded | Unavailable:
    """Return the error of an ingestion of which some messages were not stored."""
    detail = f"{failed} of {sent} messages were not stored ({code}). Those that were stored are known when sent again."
    if code == QuotaExceeded.code:
        return QuotaExceeded(detail, reached="memories")
    return Unavailable(detail)
