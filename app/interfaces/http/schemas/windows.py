"""Requests and answers of the routes for windows: the newest messages of an agent's instance."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from app.domain import limits
from app.interfaces.fields import Digits, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.ingest import IngestMessage
from app.interfaces.http.schemas.working import INSTANCE, TtlSeconds
from app.services.tiers.windows import Appended, Window

_SAID: dict[str, Any] = {"role": "user", "content": "Send me the invoice of March, please."}
_SUMMARY: dict[str, Any] = {
    "session_id": INSTANCE,
    "messages": 120,
    "since": "2026-11-19T14:05:00.000Z",
    "until": examples.MOMENT,
    "summary": {"path": f"/profiles/{examples.AGENT_ID}/summary", "body": {"session_id": INSTANCE}},
}


class AppendRequest(Request):
    """Messages for a window."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"messages": [_SAID]}]})

    messages: Annotated[list[IngestMessage], Field(min_length=1, max_length=limits.MAX_APPENDED)]
    ttl_seconds: Annotated[
        TtlSeconds,
        Field(
            description="After how many seconds without an append the window is moved into long-term memory as a whole."
        ),
    ] = limits.WORKING_TTL_SECONDS


class AppendAnswer(BaseModel):
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
                    "expires_at": examples.MOMENT,
                }
            ]
        }
    )

    session_id: str = Field(description="The instance: the session of its messages in long-term memory.")
    appended: int
    known: int = Field(description="Messages that were there already, in the window or in long-term memory.")
    messages: int = Field(description="What the window holds.")
    bytes: int = Field(description="Of their content.")
    expires_at: Timestamp = Field(description="When the window is moved into long-term memory, unless it is used.")

    @classmethod
    def of(cls, instance: str, done: Appended) -> "AppendAnswer":
        """Make it of what was done."""
        return cls(
            session_id=instance,
            appended=done.appended,
            known=done.known,
            messages=done.state.messages,
            bytes=done.state.bytes,
            expires_at=done.state.expires_at,
        )


class WindowQuery(Request):
    """How much of a window."""

    max_tokens: Annotated[
        int,
        Digits,
        Within(limits.WINDOW_TOKEN_LIMIT),
        Field(description="The most tokens of all messages together, about.", examples=[limits.WINDOW_TOKENS]),
    ] = limits.WINDOW_TOKENS


class WindowMessage(BaseModel):
    """A message of a window."""

    id: str = Field(description="The first 128 bits of SHA-256 over session, role and content.")
    role: str
    content: str
    timestamp: Timestamp
    tokens: int = Field(description="About: a fourth of its ASCII characters, and all others.")


class SummaryRequestBody(BaseModel):
    """The body of a request for a summary."""

    session_id: str


class SummaryPointer(BaseModel):
    """The request that summarises what fell out of a window."""

    path: str = Field(description="POST the body there.")
    body: SummaryRequestBody


class FallenAnswer(BaseModel):
    """What fell out of a window into long-term memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [_SUMMARY]})

    session_id: str
    messages: int
    since: Timestamp
    until: Timestamp
    summary: SummaryPointer


class WindowAnswer(BaseModel):
    """The newest messages of an instance that fit, oldest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "session_id": INSTANCE,
                    "messages": [{"id": "0f" * 16, **_SAID, "timestamp": examples.MOMENT, "tokens": 10}],
                    "tokens": 10,
                    "older": 4,
                    "summaries": [_SUMMARY],
                }
            ]
        }
    )

    session_id: str = Field(description="The instance: the session of its messages in long-term memory.")
    messages: list[WindowMessage]
    tokens: int = Field(description="Of all these messages together, about.")
    older: int = Field(description="How many older messages the window holds that did not fit.")
    expires_at: Timestamp | None = Field(
        None, description="When the window is moved into long-term memory, unless it is used. Absent: there is none."
    )
    summaries: list[FallenAnswer] = Field(description="What fell out of it into long-term memory.")

    @classmethod
    def of(cls, agent_id: str, instance: str, window: Window) -> "WindowAnswer":
        """Make it of a window."""
        messages = [
            WindowMessage(id=turn.id, role=turn.role, content=turn.content, timestamp=turn.said_at, tokens=turn.tokens)
            for turn in window.turns
        ]
        return cls(
            session_id=instance,
            messages=messages,
            tokens=window.tokens,
            older=window.older,
            expires_at=None if window.state is None else window.state.expires_at,
            summaries=_fallen(agent_id, instance, window),
        )


def _fallen(agent_id: str, instance: str, window: Window) -> list[FallenAnswer]:
    state = window.state
    if state is None or state.fallen_since is None or state.fallen_until is None:
        return []
    summary = SummaryPointer(path=f"/profiles/{agent_id}/summary", body=SummaryRequestBody(session_id=instance))
    since, until = state.fallen_since, state.fallen_until
    return [FallenAnswer(session_id=instance, messages=state.fallen, since=since, until=until, summary=summary)]
