"""The routes for profiles: an agent's memory as the constrained API shows it."""

from typing import Annotated, Any

from fastapi import Query

from app.domain.errors import (
    InvalidCursor,
    LongTermDisabled,
    NotFound,
    Superseded,
)
from app.domain.profile_answers import ProfileRecall
from app.interfaces.cursors import Listing
from app.interfaces.http.dependencies import Administrator, BodylessReadWriteCaller, ReadCaller, WriteCaller
from app.interfaces.http.failures import MODEL, OUTAGE, RECALL, STORE
from app.interfaces.http.router import Router
from app.interfaces.http.schemas.profiles import (
    DetailAnswer,
    ListedAnswer,
    ListedMemory,
    MemoriesQuery,
    ProfileId,
    ProfileRecallAnswer,
    RecallProfileRequest,
    RememberedAnswer,
    RememberRequest,
    SessionDeletedAnswer,
    SessionId,
    SummaryAnswer,
    SummaryRequest,
)
from app.interfaces.http.schemas.store import MemoryId
from app.services.memories.sessions import SessionDeletion

PROFILE = "/profiles/{profile}"

profiles = Router("profiles")


@profiles.post(f"{PROFILE}/remember", *STORE, needs=OUTAGE, status_code=201, response_model_exclude_none=True)
async def remember(caller: WriteCaller, profile: ProfileId, request: RememberRequest) -> RememberedAnswer:
    """Remember something. The same content again, for the same session and time, is the same memory."""
    given = request.model_dump(include={"content", "session_id", "occurred_at", "expires_at"})
    service = caller.agent(profile).of_run(request.run_id).profiles
    return RememberedAnswer.of(await service.remember(profile, **given))


@profiles.post(
    f"{PROFILE}/recall",
    *RECALL,
    needs=OUTAGE,
    name="recall_profile",
    response_model=ProfileRecallAnswer,
)
async def recall(caller: ReadCaller, profile: ProfileId, request: RecallProfileRequest) -> ProfileRecall:
    """Answer a question with what the profile's memories say, and name the memories that the answer may rest on."""
    return await (
        caller.agent(profile)
        .of_run(request.run_id)
        .profiles.recall(
            profile,
            request.query,
            reference_time=request.reference_time,
            length=request.response_length,
            thinking=request.thinking_level,
            explain=request.explain,
        )
    )


@profiles.get(
    f"{PROFILE}/memories", LongTermDisabled, InvalidCursor, name="list_profile", response_model_exclude_none=True
)
async def list_memories(
    caller: ReadCaller, profile: ProfileId, query: Annotated[MemoriesQuery, Query()]
) -> ListedAnswer:
    """List what holds of a profile's memories, newest first."""
    services = caller.agent(profile)
    asked: dict[str, Any] = {"session_id": query.session_id, "type": query.type}
    listing = Listing(caller, "profile", query.cursor, agent_id=profile, **asked)
    page = await services.profiles.list(profile, limit=query.limit, after=listing.after, **asked)
    return ListedAnswer(memories=[ListedMemory.of(memory) for memory in page.items], cursor=listing.cursor(page.after))


@profiles.get(
    f"{PROFILE}/memories/{{memory_id}}",
    LongTermDisabled,
    NotFound,
    name="get_profile_memory",
    response_model_exclude_none=True,
)
async def get_memory(caller: ReadCaller, profile: ProfileId, memory_id: MemoryId) -> DetailAnswer:
    """Return a memory, with who stated what before and after it and the message that it is."""
    return DetailAnswer.of_detail(await caller.agent(profile).profiles.get(profile, memory_id))


@profiles.post(
    f"{PROFILE}/memories/{{memory_id}}/forget",
    NotFound,
    LongTermDisabled,
    Superseded,
    body=(),
    response_model_exclude_none=True,
)
async def forget(caller: BodylessReadWriteCaller, profile: ProfileId, memory_id: MemoryId) -> RememberedAnswer:
    """Forget a memory: no recall finds it, nor what it had replaced, until that is taken back."""
    return RememberedAnswer.of(await caller.agent(profile).profiles.forget(profile, memory_id))


@profiles.post(
    f"{PROFILE}/memories/{{memory_id}}/unforget", NotFound, LongTermDisabled, body=(), response_model_exclude_none=True
)
async def unforget(caller: BodylessReadWriteCaller, profile: ProfileId, memory_id: MemoryId) -> RememberedAnswer:
    """Take back that a memory was forgotten. One that was not stays as it is."""
    return RememberedAnswer.of(await caller.agent(profile).profiles.unforget(profile, memory_id))


@profiles.post(f"{PROFILE}/summary", *RECALL, needs=MODEL)
async def summary(caller: ReadCaller, profile: ProfileId, request: SummaryRequest) -> SummaryAnswer:
    """Summarise what holds, in the words of the newest 200 memories. It counts as a recall."""
    summary = await caller.agent(profile).profiles.summary(profile, request.session_id)
    return SummaryAnswer(summary=summary.text, degraded=list(summary.degraded))


@profiles.delete(
    f"{PROFILE}/sessions/{{session_id:session}}", act="session.delete", response_model=SessionDeletedAnswer
)
async def delete_session(caller: Administrator, profile: ProfileId, session_id: SessionId) -> SessionDeletion:
    """Delete all memories of a session, as an administrator. One that is not there is no error."""
    return await caller.agent(profile).profiles.delete_session(profile, session_id)
