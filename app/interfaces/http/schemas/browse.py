"""Requests and answers of the routes by which a tenant looks after its own data."""

import json
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model, model_validator

from app.domain import limits
from app.interfaces.fields import (
    Answer,
    Digits,
    Number,
    Request,
    Within,
)
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.kinds import row_counts
from app.interfaces.http.schemas.memory import MemoryAnswer
from app.interfaces.http.schemas.optional import (
    OptionalEndMs,
    OptionalMs,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    absent_if_none,
)
from app.interfaces.json_schemas import FILTER_METADATA_SCHEMA
from app.storage.agents import DEFAULT_TOOLS, ToolSet
from app.storage.quotas import MAX_AGENTS, MAX_ROWS

# May be left out of a query, where there is no null to send.
OptionalAgent: TypeAlias = Annotated[str | None, TextWithin(limits.AGENT_ID, examples.AGENT_ID)]
ListLimit: TypeAlias = Annotated[
    int,
    Digits,
    Within(limits.LIST_LIMIT),
    Field(description="The most memories of one answer.", json_schema_extra={"examples": [20]}),
]
ListCursor: TypeAlias = Annotated[
    str | None,
    WithJsonSchema({"type": "string", "examples": [""]}),
    Field(description="Of the answer before, to the same question; good for 24 hours. Empty: from the beginning."),
]


def next_cursor() -> Any:  # noqa: ANN401 - as pydantic's own
    """Make the field of an answer that says where the next page begins, and is left out where there is none."""
    return absent_if_none("Present when there are more: ask the same again, with it.")


def _json_object(value: object) -> object:
    try:
        read = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise ValueError("must be a JSON object") from error
    if read is not None and not isinstance(read, dict):
        raise ValueError("must be a JSON object")
    return read


METADATA: dict[str, Any] = {
    "name": "metadata",
    "in": "query",
    "required": False,
    "description": "A JSON object. Each of its keys must be present with an equal value of the same type.",
    "content": {"application/json": {"schema": FILTER_METADATA_SCHEMA, "example": examples.WANTED}},
}
"""The parameter is described by hand, because FastAPI cannot describe JSON in a query."""


class ListQuery(Request):
    """Which memories to list."""

    agent_id: Annotated[
        OptionalAgent, Field(description="Whose memories; absent: all that the credential may look at.")
    ] = None
    limit: ListLimit = 20
    cursor: ListCursor = None
    written_by: Annotated[
        str | None,
        TextWithin(limits.CREDENTIAL_ID, examples.CREDENTIAL_ID),
        Field(description="Only what the credential with this id has written."),
    ] = None
    created_after: Annotated[OptionalMs, Field(description="Stored later than this.")] = None
    created_before: Annotated[OptionalEndMs, Field(description="Stored earlier than this.")] = None
    metadata: Annotated[dict[str, Any] | None, BeforeValidator(_json_object), Within(limits.FILTER_METADATA)] = None


class ListAnswer(Answer):
    """Memories, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.LISTED]})

    memories: list[MemoryAnswer]
    cursor: str | None = Field(None, description="Present when there are more: ask the same again, with it.")


class UsageQuery(Request):
    """Whose usage to tell."""

    agent_id: Annotated[OptionalAgent, Field(description="Absent: of all that the credential may look at.")] = None


class LimitsAnswer(Answer):
    """What may be had. What is absent has no limit."""

    memories: int | None = None
    bytes: int | None = None
    stores_per_minute: int | None = None


class BytesByTierAnswer(Answer):
    """Bytes in UTF-8 by tier. Outside long-term memory each row counts 200 more than what was sent and named."""

    long_term: int = Field(description="Content and metadata of memories.")
    working: int
    episodic: int = Field(description="Runs and episodes.")
    procedural: int = Field(description="Workflows and their outcomes.")
    shared_context: int = Field(description="With the versions that are kept. Of the tenant alone.")
    audit: int = Field(description="Tool calls of runs.")
    blobs: int = Field(description="With their objects, and with large values.")
    ingestion: int = Field(description="Messages that are no memories yet, and operations.")


class UsageAnswer(Answer):
    """What is there, and what may be."""

    memories: int = Field(description="With those that have expired and are not pruned yet.")
    bytes: int = Field(description="Of all tiers together: what counts in the limit.")
    bytes_by_tier: BytesByTierAnswer = Field(description="The parts of `bytes`.")
    stores_this_minute: int
    limits: LimitsAnswer


class AgentUsageAnswer(UsageAnswer):
    """What one agent has."""

    agent_id: str


class _KeptBeside(Answer):
    idempotency_keys: int = Field(description="Of the last 24 hours.")
    audit_rows: int
    agent_settings: int = Field(description="Agents that an administrator has set.")
    receipts: int = Field(description="Of finished erasures.")
    snapshot_bytes: int = Field(0, description="Of snapshots in the object store. They count in no limit.")


KeptAnswer = create_model(
    "KeptAnswer",
    __base__=_KeptBeside,
    __doc__="Rows that are kept beside memories.",
    **row_counts(f" At most {MAX_ROWS} are counted."),
)


class ModelLimitsAnswer(Answer):
    """What language models may cost. What is absent has no limit."""

    calls_per_day: int | None = None
    tokens_per_day: int | None = None


class ModelUsageAnswer(Answer):
    """What calls of language models have cost."""

    calls_today: int = Field(description="Of this day, which begins at midnight UTC.")
    tokens_today: int = Field(description="Of messages and answers, as the provider counts them.")
    limits: ModelLimitsAnswer


class UsagesAnswer(Answer):
    """Usage of the tenant and of its agents."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.USAGE]})

    tenant: UsageAnswer | None = Field(None, description="Present where all agents were asked for.")
    kept: KeptAnswer | None = Field(None, description="Present where all agents were asked for.")
    models: ModelUsageAnswer | None = Field(
        None, description="Present where all agents were asked for and a language model is set."
    )
    agents: list[AgentUsageAnswer] = Field(description=f"At most {MAX_AGENTS}, those with the most bytes first.")


class AgentsQuery(Request):
    """How many agents to list."""

    limit: Annotated[ListLimit, Field(description="The most agents of one answer.")] = 20
    cursor: ListCursor = None


class ListedAgentAnswer(Answer):
    """An agent of which something is kept, or that was set."""

    agent_id: str
    memories: int = Field(description="With those that have expired and are not pruned yet.")
    bytes: int = Field(description="Of all tiers together, as in its usage.")
    first_stored_at: OptionalTimestamp = absent_if_none("When its oldest memory was stored. Absent: it has none.")
    last_stored_at: OptionalTimestamp = absent_if_none("When its newest memory was stored. Absent: it has none.")


class AgentsAnswer(Answer):
    """Agents, by their ids."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"agents": [examples.LISTED_AGENT]}]})

    agents: list[ListedAgentAnswer]
    cursor: OptionalText = next_cursor()


class AgentRequest(Request):
    """What to set an agent to; what is absent stays as it was."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "examples": [examples.SET_AGENT]})

    retention_days: Annotated[
        Annotated[int, Number, Within(limits.RETENTION_DAYS)] | None,
        Field(
            description=(
                "How long its memories live where a store does not say, from now on; null: for ever, as at first."
            )
        ),
    ] = None
    long_term_enabled: Annotated[
        bool,
        Field(
            strict=True,
            description=(
                "Whether it has a long-term memory, as at first. Without, it has no tools, and its stores and recalls "
                "are refused; what it holds stays."
            ),
        ),
    ] = True
    tools: Annotated[
        ToolSet,
        Field(
            description=(
                "Which tools its model is given, over MCP and by `GET /tools`: `recall_store` for recall_memory and "
                "store_memory, as at first, or `profile` for remember, recall, forget and list. It cannot call the "
                "others. What programs call, such as `/recall`, stays."
            )
        ),
    ] = DEFAULT_TOOLS

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must name something to set")
        return self


class AgentAnswer(Answer):
    """What an agent is set to."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.AGENT]})

    agent_id: str
    retention_days: int | None
    long_term_enabled: bool
    tools: ToolSet
