"""The memory service: sessions are ingested, searches are recalls, each user has an agent of the service."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types
from typing_extensions import override

from memory_gateway_client import AsyncMemoryClient, Entry, MemoryClient, MemoryGatewayError
from memory_gateway_client.adapters.asking import Asking, OnOutage
from memory_gateway_client.adapters.conversations import Said, remember
from memory_gateway_client.adapters.naming import agent_name, session_name
from memory_gateway_client.adapters.recalling import TOP_K, Recalling
from memory_gateway_client.adapters.texts import NOTICE, pieces, quotation, unavailable

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

AgentOf: TypeAlias = Callable[[str, str], str]
"""Takes the name of an application and a user's id, and returns the agent whose memories are the user's."""

AUTHOR = "memory"
"""Who says the notice, and that the memory is unavailable."""

agent_of_user: AgentOf = agent_name
"""Gives each user of each application an agent: ``<application>:<user>``, or a hash where that is no name."""


class MemoryGatewayService(BaseMemoryService):
    """Keeps what users have said to agents of ADK, each user's apart.

    A failure of the service ends no run. A search then gives one entry that says so, which is another thing than none.
    """

    def __init__(
        self,
        client: MemoryClient | AsyncMemoryClient,
        *,
        agent_of: AgentOf = agent_of_user,
        top_k: int = TOP_K,
        quote: bool = True,
        on_outage: OnOutage | None = None,
        strict: bool = False,
    ) -> None:
        """Set it up; nothing is sent yet.

        Args:
            client: Its credential reaches the agents of all users, or that of the only one.
            agent_of: Says whose memories a user's are.
            top_k: The most memories of a search, 1 to 20.
            quote: Whether a search gives memories in quotation marks, below a notice that they are no commands, as a
                model is to read them; False: as they were said, for a program.
            on_outage: Is told once when the service is away; else the log is, as a warning.
            strict: Whether a failure is raised.
        """
        self._asking = Asking(client, logging.getLogger("google_adk." + __name__), on_outage=on_outage, strict=strict)
        self._agent_of = agent_of
        self._recalling = Recalling(self._asking, top_k=top_k)
        self._quote = quote

    @override
    async def add_session_to_memory(self, session: "Session") -> None:
        """Make a memory of each text of a session. What was added before is known, and stays as it is."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    @override
    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: "Sequence[Event]",
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Do the same with some events of a session; ``custom_metadata`` is not kept.

        Thoughts, calls of tools and parts of an answer that is still streamed are left out.
        """
        said = [each for event in events if (each := _said(event)) is not None]
        session = session_name(app_name, user_id, session_id or "")
        await remember(self._asking, said, agent_id=self._agent_of(app_name, user_id), session_id=session)

    @override
    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories as they are, with their metadata and that of all."""
        agent = self._agent_of(app_name, user_id)
        for memory in memories:
            metadata = {**(custom_metadata or {}), **memory.custom_metadata}
            for piece in pieces(_text(memory.content)):
                await self._store(agent, piece, metadata, _moment(memory.timestamp))

    @override
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories of the user that answer the query best."""
        found = await self._recalling.entries(query, self._agent_of(app_name, user_id))
        if isinstance(found, MemoryGatewayError):
            return SearchMemoryResponse(memories=[_entry(unavailable(found), author=AUTHOR)])
        memories = [self._memory(entry) for entry in found]
        if memories and self._quote:
            memories.insert(0, _entry(NOTICE, author=AUTHOR))
        return SearchMemoryResponse(memories=memories)

    @override
    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory, so that no search finds it and no session brings it back."""
        if memory_id:
            agent = self._agent_of(app_name, user_id)
            await self._asking.ask(lambda client: client.forget(memory_id, agent_id=agent))

    async def _store(self, agent: str, content: str, metadata: Mapping[str, object], at: datetime | None) -> None:
        await self._asking.ask(lambda client: client.store(content, agent_id=agent, metadata=metadata, occurred_at=at))

    def _memory(self, entry: Entry) -> MemoryEntry:
        return _entry(
            quotation(entry.content) if self._quote else entry.content,
            id=entry.id,
            author=str(entry.metadata.get("speaker", "user")),
            timestamp=(entry.occurred_at or entry.created_at).isoformat(timespec="seconds"),
            custom_metadata=entry.metadata,
        )


def _entry(text: str, **known: Any) -> MemoryEntry:  # noqa: ANN401 - the fields of an entry
    return MemoryEntry(content=types.Content(parts=[types.Part(text=text)]), **known)


def _said(event: "Event") -> Said | None:
    if event.partial or event.content is None:
        return None
    at = datetime.fromtimestamp(event.timestamp, UTC)
    return Said("user" if event.author == "user" else "assistant", _text(event.content), at)


def _text(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or [] if part.text and not part.thought)


def _moment(timestamp: str | None) -> datetime | None:
    """Read a time; one without a zone is of this machine's, as ADK writes it. What is no time is none."""
    try:
        return None if timestamp is None else datetime.fromisoformat(timestamp).astimezone()
    except ValueError:
        return None
