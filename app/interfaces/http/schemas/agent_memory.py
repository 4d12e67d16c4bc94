"""Requests and answers about profiles, as Cloudflare's Agent Memory has them.

https://developers.cloudflare.com/agent-memory/api/http-api/#profiles
"""

from typing import Annotated, Any, Literal, Self, TypeAlias

from fastapi import Path
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.domain.claim import MemoryType
from app.domain.memory import Memory
from app.domain.messages import NewMessage, Role
from app.domain.profile_answers import first_line
from app.domain.profiles import ProfileName
from app.interfaces.fields import AT_MOST_CONTENT_BYTES, Answer, Content, MomentOrDayMs, Timestamp, Within
from app.interfaces.http.envelope import Envelope, Page, listed, succeeded
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.namespaces import AccountId, CloudflareRequest, Cursor, NamespaceName, PerPage
from app.interfaces.http.segments import Segment

_CONTENT = "The user prefers concise answers."
_SESSION = "chat-2026-04-21"
_MESSAGE: dict[str, Any] = {
    "role": "user",
    "content": "I prefer concise answers.",
    "timestamp": "2026-04-21T00:00:00.000Z",
}
_LISTED: dict[str, Any] = {
    "id": examples.MEMORY_ID,
    "type": "instruction",
    "summary": _CONTENT,
    "sessionId": _SESSION,
    "createdAt": examples.MOMENT,
    "updatedAt": examples.MOMENT,
}
_MEMORY: dict[str, Any] = {**_LISTED, "content": _CONTENT}
_CANDIDATE: dict[str, Any] = {"id": examples.MEMORY_ID, "summary": _CONTENT, "sessionId": _SESSION, "score": 0.87}
_RECALLED: dict[str, Any] = {"answer": _CONTENT, "count": 1, "candidates": [_CANDIDATE]}
_SUMMARY = Field(description="Its first line, cut where it is long.")
_UNTYPED: MemoryType = "event"
"""The type of a memory whose statements were not read yet: what states nothing is one, too."""

SessionId: TypeAlias = Annotated[str, Within(limits.MESSAGE_SESSION_ID)]
_OptionalSession: TypeAlias = Annotated[SessionId | None, Field(description="The conversation that it belongs to.")]


SessionInPath: TypeAlias = Annotated[
    str, Path(description="The conversation.", examples=[_SESSION]), Segment, Within(limits.MESSAGE_SESSION_ID)
]


def named(
    account_id: AccountId,
    namespace_name: NamespaceName,
    profile_name: Annotated[
        str, Path(description="The profile.", examples=["user-42"]), Segment, Within(limits.PROFILE_NAME)
    ],
) -> ProfileName:
    """Return the profile that a path names; whose it is says the credential, whatever account the path names."""
    del account_id
    return ProfileName(namespace_name, profile_name)


class AgentMemoryMessage(CloudflareRequest):
    """A message of a conversation."""

    role: Role
    content: Annotated[Content, Field(description=AT_MOST_CONTENT_BYTES)]
    timestamp: Annotated[
        MomentOrDayMs | None,
        Field(description="When it was said, at most a day ahead. Absent: a millisecond after the message before it."),
    ] = None

    def to_message(self) -> NewMessage:
        """Return the domain's new message."""
        return NewMessage(self.role, self.content, self.timestamp, moment_field="timestamp")


class AgentMemoryIngestOptions(CloudflareRequest):
    """What stands beside the messages."""

    sessionId: Annotated[  # noqa: N815 - as Cloudflare writes it
        SessionId | None,
        Field(description="The conversation that they are of. Absent: made of what they say."),
    ] = None


class AgentMemoryIngestRequest(AgentMemoryIngestOptions):
    """A conversation, or a part of one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": [_MESSAGE], "sessionId": _SESSION}]})

    messages: Annotated[list[AgentMemoryMessage], Field(min_length=1, max_length=limits.MAX_MESSAGES)]


class AgentMemoryIncomingMemory(CloudflareRequest):
    """A memory to store."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"content": _CONTENT, "sessionId": _SESSION}]})

    content: Content
    sessionId: _OptionalSession = None  # noqa: N815 - as Cloudflare writes it


class AgentMemoryRecallRequest(CloudflareRequest):
    """A question to a profile."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "How should I answer this user?", "thinkingLevel": "low", "responseLength": "medium"}
            ]
        }
    )

    query: Annotated[str, Within(limits.PROFILE_QUERY)]
    thinkingLevel: Annotated[  # noqa: N815 - as Cloudflare writes it
        Literal["low", "medium", "high"], Field(description="How much is searched.")
    ] = "low"
    responseLength: Annotated[  # noqa: N815 - as Cloudflare writes it
        Literal["short", "medium", "long"], Field(description="How long the answer may be.")
    ] = "medium"
    referenceDate: Annotated[  # noqa: N815 - as Cloudflare writes it
        MomentOrDayMs | None, Field(description='What "yesterday" is counted from; absent: now.')
    ] = None


class AgentMemoryGetSummaryOptions(CloudflareRequest):
    """What to summarise."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"sessionId": _SESSION}]})

    sessionId: Annotated[  # noqa: N815 - as Cloudflare writes it
        SessionId | None, Field(description="Only this conversation. Absent: all.")
    ] = None


class AgentMemoryListQuery(CloudflareRequest):
    """Which memories to list."""

    per_page: PerPage = 20
    cursor: Cursor = None
    session_id: Annotated[
        SessionId | None,
        WithJsonSchema({"type": "string", **limits.MESSAGE_SESSION_ID.schema, "examples": [_SESSION]}),
        Field(description="Only of this session."),
    ] = None
    type: Annotated[
        MemoryType | None,
        WithJsonSchema(
            {"type": "string", "enum": ["fact", "instruction", "event", "task"], "examples": ["instruction"]}
        ),
        Field(description="Only of this type."),
    ] = None


class AgentMemoryMemoryListEntry(Answer):
    """A memory of a listing, without its content."""

    model_config = ConfigDict(json_schema_extra={"examples": [_LISTED]})

    id: str
    type: MemoryType
    summary: str = _SUMMARY
    sessionId: str | None  # noqa: N815 - as Cloudflare writes it
    createdAt: Timestamp  # noqa: N815 - as Cloudflare writes it
    updatedAt: Timestamp  # noqa: N815 - as Cloudflare writes it

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Make it of a memory."""
        return cls.model_validate(_fields(memory))


class AgentMemoryMemory(Answer):
    """A memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [_MEMORY]})

    id: str
    type: MemoryType
    summary: str = _SUMMARY
    content: str
    sessionId: str | None  # noqa: N815 - as Cloudflare writes it
    createdAt: Timestamp  # noqa: N815 - as Cloudflare writes it
    updatedAt: Timestamp  # noqa: N815 - as Cloudflare writes it

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Make it of a memory."""
        return cls.model_validate(_fields(memory))


def _fields(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "type": memory.type or _UNTYPED,
        "summary": first_line(memory.content),
        "content": memory.content,
        "sessionId": memory.session_id,
        "createdAt": memory.created_at,
        "updatedAt": max(memory.created_at, memory.written_at or 0),
    }


class AgentMemoryScoredCandidate(Answer):
    """A memory that an answer may rest on."""

    id: str
    summary: Annotated[str, BeforeValidator(first_line)] = Field(validation_alias="content")
    sessionId: str | None = Field(validation_alias="session_id")  # noqa: N815 - as Cloudflare writes it
    score: float = Field(description="How likely it answers the query, 0 to 1.")


class AgentMemoryRecallResult(Answer):
    """An answer, and the memories that it may rest on."""

    answer: str = Field(description="Empty where no memory answers the query.")
    count: int = Field(description="Candidates.")
    candidates: list[AgentMemoryScoredCandidate] = Field(validation_alias="entries", description="The best first.")


class AgentMemoryGetSummaryResponse(Answer):
    """What is remembered."""

    summary: str = Field(description="Markdown; empty where nothing holds.")


class AgentMemorySummaryEnvelope(Envelope[AgentMemoryGetSummaryResponse]):
    """A summary."""

    model_config = ConfigDict(json_schema_extra={"examples": [succeeded({"summary": f"## Summary\n\n{_CONTENT}"})]})


class AgentMemoryMemoryEnvelope(Envelope[AgentMemoryMemory]):
    """One memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [succeeded(_MEMORY)]})


class AgentMemoryMemoriesPage(Page[AgentMemoryMemoryListEntry]):
    """A page of memories, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [listed(_LISTED)]})


class AgentMemoryRecallEnvelope(Envelope[AgentMemoryRecallResult]):
    """What a recall has found."""

    model_config = ConfigDict(json_schema_extra={"examples": [succeeded(_RECALLED)]})
