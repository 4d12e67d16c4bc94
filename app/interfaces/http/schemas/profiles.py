"""Requests and answers of the routes for profiles."""

from operator import not_
from typing import Annotated, Any, Literal, Self, TypeAlias

from fastapi import Path
from pydantic import AliasPath, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from starlette.convertors import PathConvertor, register_url_convertor

from app.domain import limits
from app.domain.claim import MemoryType
from app.domain.limits import PROFILE_QUERY_BYTES, SESSION_ID_BYTES
from app.domain.memory import Memory
from app.domain.profile_answers import MemoryDetail, first_line
from app.interfaces.fields import AT_MOST_CONTENT_BYTES, Answer, Content, Request, Timestamp, Within, either
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit
from app.interfaces.http.schemas.memory import UNKNOWN_AGENT, EntryAnswer, FindingAnswer, InstructionAnswer
from app.interfaces.http.schemas.optional import (
    NotNull,
    OptionalCodes,
    OptionalMs,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    absent_if_empty,
    absent_if_none,
    old_name,
    optional,
)
from app.interfaces.http.schemas.store import FUTURE_SCHEMA, Future

_SESSION = "call-17"
_TYPES: list[str] = ["fact", "instruction", "event", "task"]
_TYPE = "What it is, by what it states. Absent: its statements were not read yet."


_Session: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.SESSION_ID, _SESSION)]
_Type: TypeAlias = Annotated[
    MemoryType | None, NotNull, WithJsonSchema({"type": "string", "enum": _TYPES, "examples": ["fact"]})
]
_SomeType: TypeAlias = Annotated[MemoryType | None, WithJsonSchema({"type": "string", "enum": _TYPES})]

_Run: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.RUN_ID, examples.MEMORY_ID)]
ProfileId: TypeAlias = Annotated[
    str,
    Path(description="The profile: an agent's id.", examples=[examples.AGENT_ID]),
    Within(limits.AGENT_ID),
]


class _SessionConvertor(PathConvertor):
    """A session at the end of a path, whose name may have slashes and ends of lines."""

    regex = r"[\s\S]*"


register_url_convertor("session", _SessionConvertor())
SessionId: TypeAlias = Annotated[
    str, Path(description="The conversation.", examples=[_SESSION]), Within(limits.SESSION_ID)
]


class RememberRequest(Request):
    """Something to remember."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.REMEMBER]})

    content: Annotated[Content, Field(description=AT_MOST_CONTENT_BYTES)]
    session_id: Annotated[
        Annotated[str, Within(limits.MESSAGE_SESSION_ID)] | None,
        NotNull,
        WithJsonSchema({"type": "string", **limits.MESSAGE_SESSION_ID.schema}),
    ] = optional("The conversation it comes from.")
    occurred_at: Annotated[OptionalMs, NotNull] = optional("When it happened, where that is not now.")
    expires_at: Annotated[Future | None, NotNull, WithJsonSchema(FUTURE_SCHEMA)] = optional(
        "When it is dropped, in the future. Absent: what the reader calls a task and names its day, "
        "after that day and seven days; anything else as its agent is set."
    )
    run_id: _Run = optional("The run that remembers: its log tells of it, and its undo takes it back.")


class RecallProfileRequest(Request):
    """A question to a profile."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ASK]})

    query: Annotated[
        str,
        Field(description=f"At most {PROFILE_QUERY_BYTES} bytes in UTF-8."),
        Within(limits.PROFILE_QUERY),
    ]
    run_id: _Run = optional("The run that recalls: its log and its replay tell of it.")
    reference_time: Annotated[OptionalMs, NotNull] = optional(
        "What `yesterday` and `last week` are counted from, where that is not now.",
        by=either("reference_time", "reference_date"),
    )
    thinking_level: Annotated[
        Literal["low", "medium", "high"],
        Field(
            description="How many candidates a language model answers from: 10, 20 or 40, from `medium` on also what "
            "is near a hypothetical answer. It has no effect without a language model."
        ),
    ] = "low"
    response_length: Annotated[
        Literal["short", "medium", "long"],
        Field(
            description="How long the answer may be: of a language model 80, 200 or 500 tokens. Without one it is also "
            "how many entries there are at most: 5, 10 or 20."
        ),
    ] = "medium"
    explain: Annotated[bool, Field(strict=True, description="Whether entries tell what their score is made of.")] = (
        False
    )


class SummaryRequest(Request):
    """What to summarise."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"session_id": _SESSION}]})

    session_id: _Session = optional(f"Only this conversation, at most {SESSION_ID_BYTES} bytes. Absent: all.")


class MemoriesQuery(Request):
    """Which memories to list."""

    session_id: Annotated[_Session, Field(description="Only of this conversation.")] = None
    type: Annotated[_Type, Field(description="Only of this type.")] = None
    limit: ListLimit = 20
    cursor: ListCursor = None


class ListedMemory(Answer):
    """A memory without its content."""

    id: str
    type: _SomeType = optional(_TYPE)
    summary: str = Field(description="Its first line, cut where it is long.")
    session_id: OptionalText = optional()
    occurred_at: OptionalTimestamp = optional("When it happened, where that was said.")
    created_at: Timestamp
    expires_at: OptionalTimestamp = optional()

    @classmethod
    def of(cls, memory: Memory, **more: Any) -> Self:  # noqa: ANN401 - fields of any type
        """Make it of a memory."""
        names = (name for name in cls.model_fields if hasattr(memory, name))
        fields: dict[str, Any] = {name: getattr(memory, name) for name in names}
        return cls.model_validate({**fields, "summary": first_line(memory.content), **more})


class ListedAnswer(Answer):
    """Memories that hold, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.PROFILE_LISTED]})

    memories: list[ListedMemory]
    cursor: OptionalText = optional("Present when there are more: ask the same again, with it.")


class RememberedAnswer(ListedMemory):
    """A memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.REMEMBERED]})

    content: str
    forgotten_at: OptionalTimestamp = optional("Since when no recall finds it. Absent: it is remembered.")
    superseded_at: OptionalTimestamp = optional("When what replaced it was said. Absent: it holds.")


class VersionAnswer(Answer):
    """A memory that stated a value of the same key."""

    key: str = Field(
        description=(
            "Of what one value holds at a time, such as a topic; where a reader has compared two memories, `~` "
            "and both ids."
        )
    )
    id: str = Field(validation_alias="memory_id")
    summary: str
    created_at: Timestamp
    occurred_at: OptionalTimestamp = absent_if_none("When it was said, where that was told.")
    happened_at: OptionalTimestamp = old_name("occurred_at` or else `created_at")
    superseded_at: OptionalTimestamp = optional("When what replaced it was said. Absent: it holds.")


class MessageSourceAnswer(Answer):
    """A message that a memory is, or that it was learned of."""

    id: str
    role: Literal["system", "user", "assistant"]
    session_id: OptionalText = optional()
    occurred_at: Timestamp = Field(validation_alias=AliasPath("said_at"), description="When it was said.")
    said_at: OptionalTimestamp = old_name("occurred_at")
    memory_id: str = Field(description="The memory that the message is.")


class DetailAnswer(RememberedAnswer):
    """A memory with its history."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.DETAIL]})

    versions: list[VersionAnswer] = Field(
        description="Who stated the values of its keys, key by key, oldest first: the newest 100."
    )
    sources: list[MessageSourceAnswer] = Field(
        description="Messages, oldest first: the one that it is, or those that a model has learned it of."
    )

    @classmethod
    def of_detail(cls, detail: MemoryDetail) -> Self:
        """Make it of a memory with its versions and sources."""
        return cls.of(detail.memory, versions=detail.versions, sources=detail.sources)


class CandidateAnswer(Answer):
    """An entry, in the form of before."""

    id: str
    summary: Annotated[str, BeforeValidator(first_line)] = Field(validation_alias="content")
    session_id: OptionalText = absent_if_none()
    happened_at: Timestamp = Field(description="When it happened, or else was stored.")
    score: float = Field(ge=0, le=1, description="How likely it answers the query.")
    findings: list[FindingAnswer] | None = Field(
        None, description="What the score is made of, where that was asked for.", exclude_if=not_
    )


class ProfileRecallAnswer(Answer):
    """An answer, and the memories that it may rest on."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.ANSWERED]})

    answer: str = Field(
        description="Sentences of memories as they were said, each with its day; of a language model sentences that "
        "stand in the memories. Empty: none is sure to answer."
    )
    count: int = Field(description="How many entries there are. 0: nothing on the subject is known.")
    entries: list[EntryAnswer] = Field(description="The best first, as a recall gives them.")
    candidates: list[CandidateAnswer] | SkipJsonSchema[None] = old_name("entries", of="entries")
    agent: Literal["unknown"] | SkipJsonSchema[None] = absent_if_none(UNKNOWN_AGENT)
    degraded: OptionalCodes = absent_if_empty(
        "Why it may not be all there is, as in the answer of a recall, or why a language model has not "
        "written it. Absent: it is, and it has where one is set."
    )
    cited: list[str] = Field(description="The ids of the memories that the answer is made of.")
    instructions: list[InstructionAnswer] | None = Field(
        None,
        description="At most 3 that hold: first those that concern the query, then the newest. Absent: there are none.",
        exclude_if=not_,
    )


class SummaryAnswer(Answer):
    """What is known."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.SUMMARY]})

    summary: str = Field(description="Markdown; empty where nothing is known.")
    degraded: OptionalCodes = absent_if_empty(
        "Why a language model has not written it, where one is set. Absent: it has, or none is."
    )


class SessionDeletedAnswer(Answer):
    """What one request has deleted of a session."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.SESSION_DELETED]})

    memories: int
    messages: int = Field(description="That were ingested and no memories yet.")
    more: bool = Field(description="Whether there is more: send the request again.")
