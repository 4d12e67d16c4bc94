"""Requests and answers of the routes for windows: the newest messages of an agent's instance."""

from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from app.domain import limits
from app.domain.messages import NewMessage
from app.domain.windows import Counted, MadeBy, Window, counted
from app.interfaces.fields import Answer, Digits, Number, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.ingest import IngestMessage
from app.interfaces.http.schemas.optional import OptionalText, OptionalTimestamp, old_name
from app.interfaces.http.schemas.working import INSTANCE, TtlSeconds
from app.retrieval.selection import tokens

_SAID: dict[str, Any] = {"role": "user", "content": "Send me the invoice of March, please."}
_SUMMARY: dict[str, Any] = {
    "id": "1790000000001-1790000000006",
    "since": "2026-11-19T14:05:00.000Z",
    "until": examples.MOMENT,
    "turns": 6,
    "content": "user: Invoices go to billing@example.com.",
    "tokens": 11,
    "memories": [examples.MEMORY_ID],
    "made_by": "reader",
}
_FALLEN: dict[str, Any] = {
    "messages": 120,
    "since": "2026-11-19T14:05:00.000Z",
    "until": examples.MOMENT,
    "summary": {"path": f"/profiles/{examples.AGENT_ID}/summary", "body": {"session_id": INSTANCE}},
}


_TokensOfText = Annotated[int, BeforeValidator(tokens), Field(validation_alias=AliasPath("text"))]
_CountedIfTold = Annotated[Counted, BeforeValidator(lambda told: counted(told=told))]


class AppendedMessage(IngestMessage):
    """A message for a window."""

    tokens: Annotated[
        Annotated[int, Number, Within(limits.MESSAGE_TOKENS)] | None,
        Field(description="What it costs, as your model counts. Absent: it is estimated."),
    ] = None

    def to_message(self) -> NewMessage:
        """Return the domain's new message."""
        return replace(super().to_message(), tokens=self.tokens)


class AppendRequest(Request):
    """Messages for a window."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": [_SAID]}]})

    messages: Annotated[list[AppendedMessage], Field(min_length=1, max_length=limits.MAX_APPENDED)]
    ttl_seconds: Annotated[
        TtlSeconds,
        Field(
            description="After how many seconds without an append the window is moved into long-term memory as a whole."
        ),
    ] = limits.WORKING_TTL_SECONDS


class AppendAnswer(Answer):
    """What became of an append."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "session_id": INSTANCE,
                    "appended": 1,
                    "known": 0,
                    "messages": 12,
                    "bytes": 2048,
                    "tokens": 512,
                    "expires_at": examples.MOMENT,
                }
            ]
        }
    )

    session_id: str = Field(
        validation_alias="instance", description="The instance: the session of its messages in long-term memory."
    )
    appended: int
    known: int = Field(description="Messages that were there already, in the window or in long-term memory.")
    messages: int = Field(validation_alias=AliasPath("state", "messages"), description="What the window holds.")
    bytes: int = Field(validation_alias=AliasPath("state", "bytes"), description="Of their content.")
    tokens: int = Field(
        validation_alias=AliasPath("state", "tokens"), description="Of their content, as callers told them, else about."
    )
    expires_at: Timestamp = Field(
        validation_alias=AliasPath("state", "expires_at"),
        description="When the window is moved into long-term memory, unless it is used.",
    )


class WindowQuery(Request):
    """How much of a window."""

    max_tokens: Annotated[
        Annotated[int, Digits, Within(limits.WINDOW_TOKEN_LIMIT)] | None,
        Field(
            description="The most tokens of all messages together. Absent: as many as a window keeps.",
            examples=[limits.WINDOW_TOKENS],
        ),
    ] = None


class WindowMessage(Answer):
    """A message of a window."""

    id: str = Field(description="The first 128 bits of SHA-256 over session, role and content.")
    role: str
    content: str
    occurred_at: Timestamp = Field(validation_alias=AliasPath("said_at"))
    timestamp: OptionalTimestamp = old_name("occurred_at", of="said_at")
    tokens: int
    counted: _CountedIfTold = Field(
        validation_alias="told",
        description="`told`: as its caller told them. `estimated`: a fourth of its ASCII characters, and all others.",
    )


class SummaryRequestBody(BaseModel):
    """The body of a request for a summary."""

    session_id: str


class SummaryPointer(BaseModel):
    """The request that summarises what fell out of a window."""

    path: str = Field(description="POST the body there.")
    body: SummaryRequestBody


class FallenAnswer(BaseModel):
    """All that fell out of a window into long-term memory."""

    messages: int
    since: Timestamp
    until: Timestamp
    summary: SummaryPointer


class WindowSummary(Answer):
    """What sums up turns that fell out of a window, and where they are now."""

    model_config = ConfigDict(json_schema_extra={"examples": [_SUMMARY]}, serialize_by_alias=True)

    id: str = Field(description="The places of its first and its last turn.")
    since: Timestamp = Field(description="When the first of its turns was said.")
    since_by_old_name: OptionalTimestamp = old_name("since", of="since", written="from")
    until: Timestamp = Field(description="When the last of them was said.")
    turns: int = Field(description="How many they are.")
    content: str = Field(
        validation_alias=AliasPath("text"),
        description="What they say, in their order; empty where there is nothing to tell.",
    )
    text: OptionalText = old_name("content")
    tokens: _TokensOfText = Field(description="Of the content, about.")
    memories: list[str] = Field(
        description="The ids of the memories that its turns are: first those that the content rests on, "
        f"then others up to {limits.SUMMARY_MEMORIES}."
    )
    made_by: MadeBy = Field(
        description="`model`: a language model, as far as it follows from the turns. `reader`: their sentences that "
        "the reader calls facts, instructions or tasks. `sentences`: their first sentences."
    )


class WindowAnswer(Answer):
    """The newest messages of an instance that fit, oldest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "session_id": INSTANCE,
                    "messages": [
                        {"id": "0f" * 16, **_SAID, "occurred_at": examples.MOMENT, "tokens": 10, "counted": "told"}
                    ],
                    "tokens": 10,
                    "counted": "told",
                    "older": 4,
                    "summaries": [_SUMMARY],
                    "fallen": _FALLEN,
                }
            ]
        }
    )

    session_id: str = Field(
        validation_alias="instance", description="The instance: the session of its messages in long-term memory."
    )
    messages: list[WindowMessage] = Field(validation_alias="turns")
    tokens: int = Field(description="Of all these messages together.")
    counted: Counted = Field(description="`told` where that is said of each of them.")
    older: int = Field(description="How many older messages the window holds that did not fit.")
    expires_at: Timestamp | None = Field(
        None,
        validation_alias=AliasPath("state", "expires_at"),
        description="When the window is moved into long-term memory, unless it is used. Absent: there is none.",
    )
    summaries: list[WindowSummary] = Field(
        description=f"Of what fell out of it, the newest last, at most {limits.MAX_WINDOW_SUMMARIES}."
    )
    fallen: FallenAnswer | None = Field(None, description="All that fell out of it. Absent: nothing did.")

    @classmethod
    def of(cls, agent_id: str, window: Window) -> Self:
        """Make it of a window."""
        return cls.model_validate(window).model_copy(update={"fallen": _fallen(agent_id, window)})


def _fallen(agent_id: str, window: Window) -> FallenAnswer | None:
    state = window.state
    if state is None or state.fallen_since is None or state.fallen_until is None:
        return None
    summary = SummaryPointer(path=f"/profiles/{agent_id}/summary", body=SummaryRequestBody(session_id=window.instance))
    since, until = state.fallen_since, state.fallen_until
    return FallenAnswer(messages=state.fallen, since=since, until=until, summary=summary)
