"""What the routes take and give. Limits are shown here for the OpenAPI document; ``app.limits`` holds them."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from app.api.problems import QUOTA_WARNING
from app.limits import (
    CONTENT_BYTES,
    ID_FORM,
    IDEMPOTENCY_KEY_FORM,
    MEMORY_ID_FORM,
    METADATA_BYTES,
    METADATA_DEPTH,
    NUMBER_MOST,
    SESSION_ID_BYTES,
    TOP_K_MOST,
)
from app.model import Entry, Filter, NewMemory, format_moment, milliseconds, parse_moment

_NO_NUL = r"^[^\u0000]*$"
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"


def _text(most: int) -> dict[str, Any]:
    return {"minLength": 1, "maxLength": most, "pattern": _NOT_BLANK}


def number(value: object) -> object:
    """Take 5 and 5.0, which JSON Schema calls an integer too, but no text and no boolean."""
    if isinstance(value, str | bool):
        raise ValueError("must be an integer")  # noqa: TRY004 - pydantic takes a ValueError
    return value


def _moment(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a timestamp in a string")  # noqa: TRY004 - pydantic takes a ValueError
    return parse_moment(value)


_NUMBER_SCHEMA = {"type": "number", "minimum": -NUMBER_MOST, "maximum": NUMBER_MOST}
_TEXT_SCHEMA = {"type": "string", "pattern": _NO_NUL}
_METADATA_SCHEMA = {
    "type": "object",
    "propertyNames": {"pattern": _NO_NUL},
    "additionalProperties": {"$ref": "#/components/schemas/JsonValue"},
    "description": f"At most {METADATA_BYTES} bytes as JSON, nested at most {METADATA_DEPTH} deep.",
}
JSON_VALUE_SCHEMA = {
    "description": "Any JSON value; no text in it holds NUL.",
    "anyOf": [
        _TEXT_SCHEMA,
        _NUMBER_SCHEMA,
        {"type": ["boolean", "null"]},
        {"type": "array", "items": {"$ref": "#/components/schemas/JsonValue"}},
        {
            "type": "object",
            "propertyNames": {"pattern": _NO_NUL},
            "additionalProperties": {"$ref": "#/components/schemas/JsonValue"},
        },
    ],
}
WANTED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": _NO_NUL},
    "additionalProperties": {"anyOf": [_TEXT_SCHEMA, _NUMBER_SCHEMA, {"type": ["boolean", "null"]}]},
    "description": "Each key must be present with an equal value of the same type.",
}

AgentId: TypeAlias = Annotated[
    str,
    Field(
        description="The agent whose memory this is.",
        json_schema_extra={"pattern": f"^{ID_FORM}$", "minLength": 1, "maxLength": 64},
    ),
]
MemoryId: TypeAlias = Annotated[str, Field(json_schema_extra={"pattern": f"^{MEMORY_ID_FORM}$"})]
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "Names this request, for 24 hours and this agent: sent again with the same body it changes nothing and is "
        "answered the same; with another body it is refused."
    ),
    "schema": {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY_FORM}$"},
}
"""Written out for the document: declared as FastAPI's ``Header`` it would cost every store a twentieth more."""
NEARLY_USED_UP: dict[str, Any] = {
    "headers": {
        QUOTA_WARNING: {
            "description": (
                "Limits of which 80 % or more are used, separated by commas: `memories`, `bytes` or "
                "`stores_per_minute`, then `scope=agent` or `scope=tenant`, `used=` and `limit=`, each behind a `;`."
            ),
            "schema": {"type": "string"},
            "example": "memories;scope=agent;used=81;limit=100",
        }
    }
}
"""What a store's answer may carry, for the document."""
Moment: TypeAlias = Annotated[
    datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})
]


class Request(BaseModel):
    """What a caller sends: nothing but the fields it has."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StoreRequest(Request):
    """A memory to store."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "agent_id": "billing",
                    "content": "The customer prefers invoices in Swedish",
                    "metadata": {"source": "call", "customer": 4711},
                }
            ]
        }
    )

    agent_id: AgentId
    content: Annotated[
        str,
        Field(description=f"At most {CONTENT_BYTES} bytes in UTF-8.", json_schema_extra=_text(CONTENT_BYTES)),
    ]
    metadata: Annotated[dict[str, Any], WithJsonSchema(_METADATA_SCHEMA)] = Field(default_factory=dict)
    session_id: Annotated[
        Annotated[str, Field(json_schema_extra=_text(SESSION_ID_BYTES))] | None,
        Field(description=f"The conversation it comes from, at most {SESSION_ID_BYTES} bytes."),
    ] = None
    occurred_at: Annotated[Moment | None, Field(description="When it happened, where that is not now.")] = None

    expires_at: Annotated[
        Moment | None,
        Field(description="When it is forgotten, in the future. Absent: as its agent is set, which is never at first."),
    ] = None

    def memory(self) -> NewMemory:
        """Return it in the domain's words."""
        occurred_at = None if self.occurred_at is None else milliseconds(self.occurred_at)
        expires_at = None if self.expires_at is None else milliseconds(self.expires_at)
        return NewMemory(self.content, self.metadata, self.session_id, occurred_at, expires_at)


class StoreAnswer(BaseModel):
    """The memory is stored: every later recall finds it."""

    stored: Literal[True] = True


class RecallFilter(Request):
    """Conditions that all must hold; they are applied before `top_k` is counted."""

    created_after: Annotated[Moment | None, Field(description="Stored later than this.")] = None
    created_before: Annotated[Moment | None, Field(description="Stored earlier than this.")] = None
    metadata: Annotated[dict[str, Any], WithJsonSchema(WANTED_SCHEMA)] = Field(default_factory=dict)


class RecallRequest(Request):
    """A question to the agent's memory."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"agent_id": "billing", "query": "which language should bills be in?", "top_k": 3},
                {
                    "agent_id": "billing",
                    "query": "which language should bills be in?",
                    "filter": {"created_after": "2026-01-01T00:00:00Z", "metadata": {"source": "call"}},
                },
            ]
        }
    )

    agent_id: AgentId
    query: Annotated[
        str,
        Field(description=f"At most {CONTENT_BYTES} bytes in UTF-8.", json_schema_extra=_text(CONTENT_BYTES)),
    ]
    top_k: Annotated[
        int,
        BeforeValidator(number),
        Field(description="The most entries to return.", json_schema_extra={"minimum": 1, "maximum": TOP_K_MOST}),
    ] = 5
    filter: RecallFilter | None = None

    def where(self) -> Filter:
        """Return the filter in the domain's words."""
        if self.filter is None:
            return Filter()
        after, before = self.filter.created_after, self.filter.created_before
        return Filter(
            created_after=None if after is None else milliseconds(after),
            created_before=None if before is None else milliseconds(before, up=True),
            metadata=self.filter.metadata,
        )


class EntryAnswer(BaseModel):
    """One memory found."""

    id: str
    content: str
    metadata: dict[str, Any]
    score: float = Field(ge=-1, le=1, description="Cosine similarity, -1 to 1, higher is better.")
    created_at: str = Field(json_schema_extra={"format": "date-time"})


class RecallAnswer(BaseModel):
    """What was found, most similar first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "entries": [
                        {
                            "id": "01K2Z4M1V7Q8T3B5N6C7D8E9FA",
                            "content": "The customer prefers invoices in Swedish",
                            "metadata": {"source": "call", "customer": 4711},
                            "score": 0.55,
                            "created_at": "2026-11-20T09:30:00.000Z",
                        }
                    ]
                }
            ]
        }
    )

    entries: list[EntryAnswer]
    degraded: list[str] | None = Field(
        None,
        description=(
            "Present when the answer may not be all there is: why. `pending_bound`: of what is new only the newest "
            "was compared. `filter_beyond_index`: the last entries match the filter, but were not compared with the "
            "query. `index_unavailable`: the vector index did not answer; only what it may not show yet was searched."
        ),
    )


class DeleteQuery(Request):
    """Whose memory to delete."""

    agent_id: AgentId


def entry_answer(entry: Entry) -> EntryAnswer:
    """Write an entry for the wire."""
    return EntryAnswer(
        id=entry.id,
        content=entry.content,
        metadata=dict(entry.metadata),
        score=entry.score,
        created_at=format_moment(entry.created_at),
    )
