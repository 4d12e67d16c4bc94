"""Requests and answers of the routes that take back what a credential has written, or a run or a session has taught."""

from typing import Annotated, Any, TypeAlias

from pydantic import AliasPath, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from app.domain import limits
from app.interfaces.fields import Answer, Request, Timestamp, Within
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.episodic_examples import RUN_ID
from app.interfaces.http.schemas.optional import (
    NotNull,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    old_name,
    optional,
)

CredentialId: TypeAlias = Annotated[
    str,
    Field(description="Its claim `jti`.", json_schema_extra={"examples": [examples.CREDENTIAL_ID]}),
    Within(limits.CREDENTIAL_ID),
]

_GOING: dict[str, Any] = {"id": examples.MEMORY_ID, "agent_id": examples.AGENT_ID}
_HOLDING: dict[str, Any] = {
    "id": examples.MEMORY_ID,
    "agent_id": examples.AGENT_ID,
    "content": "The user lives in Rome.",
}
_FORECAST: dict[str, Any] = {
    "learned": 0,
    "agents": 1,
    "agent_ids": [examples.AGENT_ID],
    "going": [_GOING],
    "holds_again": 1,
    "holding": [_HOLDING],
    "at_least": False,
}
_DRY_RUN: dict[str, Any] = {
    "dry_run": True,
    "memories": 1,
    "changed": 0,
    "messages": 0,
    "outcomes": 0,
    "more": False,
    "ended_at": examples.MOMENT,
    "forecast": _FORECAST,
}


_RunId: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.RUN_ID, RUN_ID)]
_AgentId: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.AGENT_ID, examples.AGENT_ID)]
_SessionId: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.SESSION_ID, "call-17")]
_CredentialId: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.CREDENTIAL_ID, examples.CREDENTIAL_ID)]
# Generators of clients read a class with fields that may be left out, and pass over the condition.
_ONE_OF: dict[str, Any] = {
    "if": {"type": "object"},
    "then": {
        "oneOf": [{"required": ["run_id"]}, {"required": ["session_id"]}, {"required": ["credential_id"]}],
        "dependentRequired": {"agent_id": ["session_id"], "session_id": ["agent_id"]},
    },
}


class UndoAnswer(Answer):
    """The receipt: what was taken back. The credential is revoked."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.UNDONE]})

    credential_id: str
    memories: int = Field(description="Memories that it had written, deleted.")
    changed: int = Field(
        description="Memories of others that lost the metadata keys that it had brought, or that it had forgotten."
    )
    outcomes: int = Field(description="Outcomes of workflows that it had reported: they count no more.")
    more: bool = Field(description="Whether there is more, since one call has an end: call again.")
    ended_at: Timestamp = Field(validation_alias=AliasPath("finished_at"))
    finished_at: OptionalTimestamp = old_name("ended_at")


class UndoWanted(Request):
    """Whose memories to take back: exactly one of a run's, an agent's session's, and a credential's."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"run_id": RUN_ID, "dry_run": True}], **_ONE_OF})

    run_id: _RunId = optional("What this run has taught.")
    agent_id: _AgentId = optional("Whose session it is: with `session_id`, and only with it.")
    session_id: _SessionId = optional("What was remembered of this session, and its window.")
    credential_id: _CredentialId = optional("What this credential has written: it is revoked first.")
    dry_run: Annotated[bool, Field(strict=True, description="Only say what it would do; `false` does it.")] = True


class GoingAnswer(Answer):
    """A memory that would go."""

    model_config = ConfigDict(json_schema_extra={"examples": [_GOING]})

    id: str
    agent_id: str


class HoldingAnswer(Answer):
    """A memory that is superseded now, and would hold again."""

    model_config = ConfigDict(json_schema_extra={"examples": [_HOLDING]})

    id: str = Field(validation_alias=AliasPath("memory_id"))
    memory_id: OptionalText = old_name("id")
    agent_id: str
    content: str = Field(description="At most its first 1,200 characters.")


class UndoForecast(Answer):
    """How far an undo would reach."""

    model_config = ConfigDict(json_schema_extra={"examples": [_FORECAST]})

    learned: int = Field(description="Of `memories`: learned of messages that would go, and so gone with them.")
    agents: int = Field(description="How many agents would lose memories.")
    agent_ids: list[str] = Field(description=f"The first {limits.MAX_UNDO_NAMED} of them.")
    going: list[GoingAnswer] = Field(description=f"The first {limits.MAX_UNDO_NAMED} memories that would go.")
    holds_again: int = Field(description="How many memories that are superseded now would hold again.")
    holding: list[HoldingAnswer] = Field(description=f"The first {limits.MAX_UNDO_NAMED} of them.")
    at_least: bool = Field(description="Whether the counts, also those beside the forecast, say how many at least.")


class UndoTaughtAnswer(Answer):
    """What was taken back or, of a dry run, would be."""

    model_config = ConfigDict(json_schema_extra={"examples": [_DRY_RUN]})

    dry_run: bool = Field(description="Whether nothing was changed.")
    memories: int = Field(description="Memories that were deleted, or would be.")
    changed: int = Field(description="Memories of others that lose what was added to them, or are remembered again.")
    messages: int = Field(description="Messages that were no memories yet: of a run, or of a session and its window.")
    outcomes: int = Field(description="Of a credential: outcomes of workflows that it had reported.")
    more: bool = Field(description="Whether there is more, since one call has an end: call again.")
    ended_at: Timestamp = Field(validation_alias=AliasPath("finished_at"))
    finished_at: OptionalTimestamp = old_name("ended_at")
    forecast: UndoForecast | SkipJsonSchema[None] = optional("Of a dry run.")
