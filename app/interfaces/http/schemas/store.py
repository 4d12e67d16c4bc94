"""Requests and answers of the routes that store and delete one memory."""

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.domain.limits import SESSION_ID_BYTES
from app.interfaces.fields import AT_MOST_CONTENT_BYTES, Content, Metadata, MomentMs, Request, Within
from app.interfaces.http.problems import QUOTA_WARNING
from app.interfaces.http.schemas import examples

AgentId: TypeAlias = Annotated[
    str,
    Field(description="The agent whose memory this is.", json_schema_extra={"examples": [examples.AGENT_ID]}),
    Within(limits.AGENT_ID),
]
MemoryId: TypeAlias = Annotated[
    str, Field(json_schema_extra={"examples": [examples.MEMORY_ID]}), Within(limits.MEMORY_ID)
]
RunOfRequest: TypeAlias = Annotated[
    Annotated[str, Within(limits.RUN_ID)] | None,
    Field(
        description="The run that this is done under: its log tells of it, and `POST /undo` of the run takes it back."
    ),
]
FUTURE_SCHEMA = {
    "type": "string",
    "format": "date-time",
    # No schema knows the time. It is past these years, and a generator of requests that goes by a pattern does not make
    # up the moment at which it runs.
    "pattern": r"^[2-9]\d{3}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$",
    "not": {"pattern": "^20(?:[01]|2[0-5])"},
    "examples": [examples.FUTURE],
}
Future: TypeAlias = Annotated[MomentMs, WithJsonSchema(FUTURE_SCHEMA)]
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "Names this request, for 24 hours and this agent: sent again with the same body it changes nothing and is "
        "answered as stored; with another body it is refused."
    ),
    "schema": {"type": "string", **limits.IDEMPOTENCY_KEY.schema},
    "example": "call-17-message-4",
}
"""The header is described by hand: as a FastAPI ``Header`` it would make every store 5 % slower."""
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
"""The headers that a store's answer may carry, for the document."""


class StoreRequest(Request):
    """A memory to store."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.STORE, examples.STORE_OF_A_SESSION]})

    agent_id: AgentId
    content: Annotated[Content, Field(description=AT_MOST_CONTENT_BYTES)]
    metadata: Metadata = Field(default_factory=dict)
    session_id: Annotated[
        Annotated[str, Within(limits.SESSION_ID)] | None,
        Field(description=f"The conversation it comes from, at most {SESSION_ID_BYTES} bytes."),
    ] = None
    occurred_at: Annotated[MomentMs | None, Field(description="When it happened, where that is not now.")] = None
    expires_at: Annotated[
        Future | None,
        Field(description="When it is forgotten, in the future. Absent: as its agent is set, which is never at first."),
    ] = None
    run_id: RunOfRequest = None


class StoreAnswer(BaseModel):
    """The memory is stored: every later recall finds it."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.STORED]})

    stored: Annotated[
        bool, Field(description="Always true: a memory that is not stored is answered with a problem.")
    ] = True
    kept: Annotated[
        list[str] | None,
        Field(
            description=(
                "Present where the content was there already and some of it stays as it was: `expires_at`, or "
                "`metadata.` and a key. Only an administrator's credential replaces them."
            )
        ),
    ] = None


class DeleteQuery(Request):
    """Whose memory to delete."""

    agent_id: AgentId
