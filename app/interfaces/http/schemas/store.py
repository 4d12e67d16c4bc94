"""What the routes take and give. Limits are shown here for the OpenAPI document; ``app.domain.limits`` holds them."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from app.domain.limits import CONTENT_BYTES, ID_FORM, IDEMPOTENCY_KEY_FORM, MEMORY_ID_FORM, SESSION_ID_BYTES
from app.domain.memory import NewMemory
from app.domain.moments import milliseconds
from app.interfaces.fields import METADATA_SCHEMA, Moment, Request, text_schema
from app.interfaces.http.problems import QUOTA_WARNING
from app.interfaces.http.schemas import examples

AgentId: TypeAlias = Annotated[
    str,
    Field(
        description="The agent whose memory this is.",
        json_schema_extra={
            "pattern": f"^{ID_FORM}$",
            "minLength": 1,
            "maxLength": 64,
            "examples": [examples.AGENT_ID],
        },
    ),
]
MemoryId: TypeAlias = Annotated[
    str, Field(json_schema_extra={"pattern": f"^{MEMORY_ID_FORM}$", "examples": [examples.MEMORY_ID]})
]
IDEMPOTENCY_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "Names this request, for 24 hours and this agent: sent again with the same body it changes nothing and is "
        "answered the same; with another body it is refused."
    ),
    "schema": {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY_FORM}$"},
    "example": "call-17-message-4",
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


class StoreRequest(Request):
    """A memory to store."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.STORE, examples.STORE_OF_A_SESSION]})

    agent_id: AgentId
    content: Annotated[
        str,
        Field(description=f"At most {CONTENT_BYTES} bytes in UTF-8.", json_schema_extra=text_schema(CONTENT_BYTES)),
    ]
    metadata: Annotated[dict[str, Any], WithJsonSchema(METADATA_SCHEMA)] = Field(default_factory=dict)
    session_id: Annotated[
        Annotated[str, Field(json_schema_extra=text_schema(SESSION_ID_BYTES))] | None,
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

    model_config = ConfigDict(json_schema_extra={"examples": [examples.STORED]})

    stored: Literal[True] = True


class DeleteQuery(Request):
    """Whose memory to delete."""

    agent_id: AgentId
