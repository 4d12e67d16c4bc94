"""Requests and answers of the routes for the audit: trails of runs, and events."""

from typing import Annotated, Any, Literal, Self, TypeAlias

from fastapi import Path
from pydantic import ConfigDict, Field, WithJsonSchema, model_validator
from ulid import ULID

from app.domain import limits
from app.domain.audit import (
    ToolCall,
    canonical_json,
    sha256_of,
)
from app.domain.json_types import to_json
from app.interfaces.fields import Answer, MomentMs, Number, Request, Timestamp, Within
from app.interfaces.http.schemas import audit_examples, examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit, next_cursor
from app.interfaces.http.schemas.optional import (
    OptionalEndMs,
    OptionalMs,
    OptionalText,
    TextWithin,
    absent_if_none,
    optional,
)
from app.interfaces.json_schemas import ANY_JSON_SCHEMA

OBJECT = WithJsonSchema({"type": "object", "additionalProperties": True})
ANY = WithJsonSchema(ANY_JSON_SCHEMA)

RunId: TypeAlias = Annotated[str, Path(description="The run.", examples=[audit_examples.RUN_ID]), Within(limits.RUN_ID)]
_Tool: TypeAlias = Annotated[str, Field(description="What the tool is called."), Within(limits.TOOL)]

# A double, as MAX_NUMBER is not: what reads it as such would let the next number pass.
_COUNTED: dict[str, Any] = {"minimum": 0, "exclusiveMaximum": limits.MAX_NUMBER + 1}


# Under "then", which generators of clients pass over: of a "oneOf" beside properties they make code that fails.
_INPUT_OR_HASH: dict[str, Any] = {
    "if": {"type": "object"},
    "then": {
        "oneOf": [
            {"required": ["input"]},
            {"required": ["input_hash"], "properties": {"input_hash": {"type": "string"}}},
        ]
    },
}


class ToolCallRequest(Request):
    """A tool call of a run. It has `input` or `input_hash`, not both."""

    model_config = ConfigDict(json_schema_extra=_INPUT_OR_HASH)

    call_id: Annotated[str, Within(limits.TOOL_CALL_ID)] | None = optional(
        "A ULID: a call that is sent again with it is known. Absent: one is made, and sent again it is another."
    )
    tool: _Tool
    input: Annotated[Any, Within(limits.TOOL_INPUT), ANY] = optional(
        f"Any JSON, at most {limits.TOOL_INPUT_BYTES} bytes, nested at most {limits.JSON_DEPTH} deep."
    )
    input_hash: Annotated[str, Within(limits.INPUT_HASH)] | None = optional(
        "SHA-256 of the input's canonical JSON, in hex, in place of the input."
    )
    outcome: Literal["ok", "error"]
    error: Annotated[str, Within(limits.TOOL_ERROR)] | None = optional(
        f"At most {limits.TOOL_ERROR_BYTES} bytes in UTF-8."
    )
    output: Annotated[Any, Within(limits.TOOL_OUTPUT), ANY] = optional(
        f"Any JSON, at most {limits.TOOL_OUTPUT_BYTES} bytes, nested at most {limits.JSON_DEPTH} deep."
    )
    ms: Annotated[float | int, Number, Within(limits.TOOL_MS), WithJsonSchema({"type": "number", **_COUNTED})] = Field(
        description="How long it took, in milliseconds."
    )
    tokens: (
        Annotated[int, Number, Within(limits.TOOL_TOKENS), WithJsonSchema({"type": "integer", **_COUNTED})] | None
    ) = optional("What it cost, where it calls a model.")
    called_at: MomentMs | None = optional("When it was, to the millisecond.")

    @model_validator(mode="after")
    def _has_one_input(self) -> Self:
        if ("input" in self.model_fields_set) == (self.input_hash is not None):
            raise ValueError("needs either input or input_hash")
        return self

    def to_call(self) -> ToolCall:
        """Return the domain's tool call."""
        given = self.model_fields_set
        text = canonical_json(self.input) if "input" in given else None
        return self.to(
            ToolCall,
            id=self.call_id or str(ULID()),
            input=text,
            input_hash=self.input_hash or sha256_of(text or ""),
            ms=to_json(self.ms),
            output=canonical_json(self.output) if "output" in given else None,
        )


class AuditRunRequest(Request):
    """Tool calls of a run, in the order in which they were made."""

    model_config = ConfigDict(json_schema_extra={"examples": [audit_examples.TOOL_CALLS]})

    calls: Annotated[list[ToolCallRequest], Within(limits.TOOL_CALLS)]


class AuditedAnswer(Answer):
    """What became of the calls. What arrived after the end of the run is in the audit, and not in the replay."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"written": 1, "known": 0}]})

    written: int
    known: int = Field(description="Calls that the run has already. They stay as they are.")


class AuditQuery(Request):
    """Which events to list. All conditions must hold."""

    agent_id: Annotated[
        str | None,
        TextWithin(limits.AGENT_ID, examples.AGENT_ID),
        Field(description="Only of this agent."),
    ] = None
    event: Annotated[
        str | None,
        TextWithin(limits.AUDIT_EVENT, "tool_call"),
        Field(description="Only of this name, such as `stored`, `deleted`, `tool_call`, `recall`."),
    ] = None
    memory_id: Annotated[
        str | None,
        TextWithin(limits.MEMORY_ID, examples.MEMORY_ID),
        Field(description="Only what was done to this memory."),
    ] = None
    run_id: Annotated[
        str | None,
        TextWithin(limits.RUN_ID, examples.MEMORY_ID),
        Field(description="Only what names this run."),
    ] = None
    written_by: Annotated[
        str | None,
        TextWithin(limits.CREDENTIAL_ID, examples.CREDENTIAL_ID),
        Field(description="Only what the credential with this id has done."),
    ] = None
    after: Annotated[OptionalMs, Field(description="Later than this.")] = None
    before: Annotated[OptionalEndMs, Field(description="Earlier than this.")] = None
    limit: ListLimit = 20
    cursor: ListCursor = None


class EventAnswer(Answer):
    """An event."""

    at: Timestamp
    event: str
    agent_id: OptionalText = absent_if_none("Absent: it concerns all agents.")
    memory_id: OptionalText = absent_if_none()
    run_id: OptionalText = absent_if_none()
    detail: Annotated[dict[str, Any], OBJECT] = Field(description="By event; never a content or a query.")
    written_by: OptionalText = absent_if_none("The id of the credential. Absent: an operator.")


class EventsAnswer(Answer):
    """Events, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [audit_examples.EVENTS]})

    events: list[EventAnswer]
    cursor: OptionalText = next_cursor()
