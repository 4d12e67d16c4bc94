"""The routes for profiles, as Cloudflare's Agent Memory has them.

https://developers.cloudflare.com/agent-memory/api/http-api/#profiles
"""

from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Query, Request

from app.domain.errors import (
    Erasing,
    InvalidCursor,
    LongTermDisabled,
    NotFound,
    SensitiveContent,
)
from app.domain.profiles import ProfileName
from app.interfaces.cursors import Listing
from app.interfaces.http import envelope
from app.interfaces.http.conversations import conversation_body, read_conversation
from app.interfaces.http.dependencies import Administrator, ReadCaller, WriteCaller
from app.interfaces.http.envelope import CloudflareNothing
from app.interfaces.http.failures import MODEL, OUTAGE, RECALL
from app.interfaces.http.long_body import announced
from app.interfaces.http.middleware import INGEST_BYTES
from app.interfaces.http.router import Router
from app.interfaces.http.routes.namespaces import NAMESPACES, TAG
from app.interfaces.http.schemas.agent_memory import (
    AgentMemoryGetSummaryOptions,
    AgentMemoryGetSummaryResponse,
    AgentMemoryIncomingMemory,
    AgentMemoryIngestOptions,
    AgentMemoryListQuery,
    AgentMemoryMemoriesPage,
    AgentMemoryMemory,
    AgentMemoryMemoryEnvelope,
    AgentMemoryMemoryListEntry,
    AgentMemoryMessage,
    AgentMemoryRecallEnvelope,
    AgentMemoryRecallRequest,
    AgentMemoryRecallResult,
    AgentMemorySummaryEnvelope,
    SessionInPath,
    named,
)
from app.interfaces.http.schemas.store import MemoryId

PROFILE = f"{NAMESPACES}/{{namespace_name}}/profiles/{{profile_name}}"
Named: TypeAlias = Annotated[ProfileName, Depends(named)]

agent_memory = Router(TAG, NotFound, describe=envelope.responses, any_query=True)


@agent_memory.delete(PROFILE, act="profile.erase", name="agent_memory_profile_delete")
async def delete_profile(caller: Administrator, profile: Named) -> CloudflareNothing:
    """Begin to erase everything of a profile, as an administrator. Until that is done nothing is stored in it."""
    await caller.agent(profile.agent_id).namespaces.delete_profile(profile)
    return CloudflareNothing()


@agent_memory.delete(f"{PROFILE}/sessions/{{session_id}}", act="session.delete", name="agent_memory_session_delete")
async def delete_session(caller: Administrator, profile: Named, session_id: SessionInPath) -> CloudflareNothing:
    """Delete all memories of a session, as an administrator. One that is not there is no error."""
    await caller.agent(profile.agent_id).agent_memory.delete_session(profile, session_id)
    return CloudflareNothing()


@agent_memory.post(
    f"{PROFILE}/ingest",
    Erasing,
    SensitiveContent,
    *RECALL,
    name="agent_memory_ingest",
    openapi_extra=conversation_body("AgentMemoryIngestRequest"),
)
async def ingest(caller: WriteCaller, profile: Named, request: Request) -> CloudflareNothing:
    """Take a conversation: each message becomes a memory. The same messages again change nothing.

    It is answered once they are stored, or after 20 seconds: then the rest is stored later.
    """
    services = caller.agent(profile.agent_id)
    async with services.backends.admission.conversation(announced(request, INGEST_BYTES)):
        messages, options = await read_conversation(request, AgentMemoryMessage, AgentMemoryIngestOptions)
        await services.agent_memory.ingest(profile, messages, options.sessionId)
    return CloudflareNothing()


@agent_memory.post(
    f"{PROFILE}/remember", Erasing, SensitiveContent, *RECALL, needs=OUTAGE, name="agent_memory_remember"
)
async def remember(
    caller: WriteCaller, profile: Named, request: AgentMemoryIncomingMemory
) -> AgentMemoryMemoryEnvelope:
    """Store one memory. The same content again, for the same session, is the same memory."""
    service = caller.agent(profile.agent_id).agent_memory
    memory = await service.remember(profile, request.content, session_id=request.sessionId)
    return AgentMemoryMemoryEnvelope(result=AgentMemoryMemory.of(memory))


@agent_memory.post(f"{PROFILE}/recall", *RECALL, needs=OUTAGE, name="agent_memory_recall")
async def recall(caller: ReadCaller, profile: Named, request: AgentMemoryRecallRequest) -> AgentMemoryRecallEnvelope:
    """Answer a question from a profile's memories. Where none answers it, the answer is empty."""
    found = await caller.agent(profile.agent_id).agent_memory.recall(
        profile,
        request.query,
        reference_time=request.referenceDate,
        length=request.responseLength,
        thinking=request.thinkingLevel,
    )
    return AgentMemoryRecallEnvelope(result=AgentMemoryRecallResult.model_validate(found))


@agent_memory.get(f"{PROFILE}/memories", LongTermDisabled, InvalidCursor, name="agent_memory_memory_list")
async def list_memories(
    caller: ReadCaller, profile: Named, query: Annotated[AgentMemoryListQuery, Query()]
) -> AgentMemoryMemoriesPage:
    """List what a profile remembers, newest first, without what is superseded or was forgotten."""
    service = caller.agent(profile.agent_id).agent_memory
    asked: dict[str, Any] = {"session_id": query.session_id, "type": query.type}
    listing = Listing(caller, "profile", query.cursor, agent_id=profile.agent_id, **asked)
    page = await service.list(profile, limit=query.per_page, after=listing.after, **asked)
    memories = [AgentMemoryMemoryListEntry.of(memory) for memory in page.items]
    return AgentMemoryMemoriesPage.of(memories, cursor=listing.cursor(page.after), per_page=query.per_page)


@agent_memory.get(f"{PROFILE}/memories/{{memory_id}}", LongTermDisabled, name="agent_memory_memory_get")
async def get_memory(caller: ReadCaller, profile: Named, memory_id: MemoryId) -> AgentMemoryMemoryEnvelope:
    """Return a memory with its content, one that is superseded too."""
    memory = await caller.agent(profile.agent_id).agent_memory.get(profile, memory_id)
    return AgentMemoryMemoryEnvelope(result=AgentMemoryMemory.of(memory))


@agent_memory.delete(
    f"{PROFILE}/memories/{{memory_id}}", LongTermDisabled, act="memory.delete", name="agent_memory_memory_delete"
)
async def delete_memory(caller: Administrator, profile: Named, memory_id: MemoryId) -> AgentMemoryMemoryEnvelope:
    """Delete a memory, as an administrator, and return what it was."""
    memory = await caller.agent(profile.agent_id).agent_memory.delete(profile, memory_id)
    return AgentMemoryMemoryEnvelope(result=AgentMemoryMemory.of(memory))


@agent_memory.post(f"{PROFILE}/summary", *RECALL, needs=MODEL, name="agent_memory_summary")
async def summary(
    caller: ReadCaller, profile: Named, request: AgentMemoryGetSummaryOptions
) -> AgentMemorySummaryEnvelope:
    """Summarise what holds, in the words of the newest memories. It counts as a recall."""
    text = await caller.agent(profile.agent_id).agent_memory.summary(profile, request.sessionId)
    return AgentMemorySummaryEnvelope(result=AgentMemoryGetSummaryResponse(summary=text))
