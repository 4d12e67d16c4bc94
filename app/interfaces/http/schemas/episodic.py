"""Requests and answers of the routes of runs and episodes."""

from typing import Annotated, Any, TypeAlias

from pydantic import AliasPath, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.domain.episodes import RunStatus
from app.interfaces.fields import (
    AT_MOST_CONTENT_BYTES,
    Answer,
    Metadata,
    Number,
    Request,
    Timestamp,
    Within,
)
from app.interfaces.http.problems import QUOTA_WARNING
from app.interfaces.http.schemas import episodic_examples, examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit, next_cursor
from app.interfaces.http.schemas.optional import (
    NotNull,
    OptionalEndMs,
    OptionalMs,
    OptionalText,
    OptionalTimestamp,
    TextWithin,
    absent_if_none,
    optional,
)
from app.interfaces.json_schemas import ANY_JSON_SCHEMA

_VALUE = f"Any JSON: at most {limits.RUN_VALUE_BYTES} bytes, nested at most {limits.JSON_DEPTH} deep."
_STATUSES: list[str] = ["running", "completed", "failed"]


AgentName: TypeAlias = Annotated[
    str, Field(json_schema_extra={"examples": [examples.AGENT_ID]}), Within(limits.AGENT_ID)
]
AgentType: TypeAlias = Annotated[
    str,
    Field(
        strict=True,
        description="What kind of agent it is: agents of one type learn of each other's episodes.",
        json_schema_extra={"examples": [episodic_examples.AGENT_TYPE]},
    ),
    Within(limits.AGENT_ID),
]
RunId: TypeAlias = Annotated[
    str, Field(json_schema_extra={"examples": [episodic_examples.RUN_ID]}), Within(limits.RUN_ID)
]
RunValue: TypeAlias = Annotated[
    Any, Within(limits.RUN_VALUE), WithJsonSchema({**ANY_JSON_SCHEMA, "description": _VALUE})
]
_OptionalRunId: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.RUN_ID, episodic_examples.RUN_ID)]
_OptionalEpisodeId: TypeAlias = Annotated[str | None, NotNull, TextWithin(limits.EPISODE_ID, episodic_examples.RUN_ID)]
AgentFilter: TypeAlias = Annotated[str | None, TextWithin(limits.AGENT_ID, examples.AGENT_ID)]
_TypeFilter: TypeAlias = Annotated[
    str | None,
    TextWithin(limits.AGENT_ID, episodic_examples.AGENT_TYPE),
]
NEAR_LIMIT: dict[str, Any] = {
    "headers": {
        QUOTA_WARNING: {
            "description": "Present where 80 % or more of the episodes that the tenant may have are there.",
            "schema": {"type": "string"},
            "example": "episodes;scope=tenant;used=80000;limit=100000",
        }
    }
}
"""The headers that the answer of a write may carry, for the document."""


class StartRunRequest(Request):
    """A run to begin."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.START_RUN]})

    agent_id: AgentName
    agent_type: AgentType
    input: RunValue
    run_id: _OptionalRunId = optional("A ULID of the caller: the same request again is the same run.")
    episodes: Annotated[
        int,
        Number,
        Within(limits.EPISODES_GIVEN),
        Field(description="How many of the last episodes of this agent type the answer has."),
    ] = 10
    parent_run_id: _OptionalRunId = optional("The run that delegates this one: it has to be running.")
    handed_over: Annotated[Any, NotNull, Within(limits.HANDED_OVER), WithJsonSchema({**ANY_JSON_SCHEMA})] = optional(
        f"What its parent gives it to know: any JSON but null, at most {limits.HANDED_OVER_BYTES} bytes. "
        "`GET /runs/{run_id}` of the run has it, and nothing else."
    )


class EpisodeRequest(Request):
    """Something that has happened in a run."""

    episode_id: _OptionalEpisodeId = optional("A ULID of the caller: the same id again is the same episode.")
    type: Annotated[
        str,
        Field(description="What kind of thing happened, in your own words."),
        Within(limits.EPISODE_TYPE),
    ]
    content: Annotated[str, Field(description=AT_MOST_CONTENT_BYTES), Within(limits.EPISODE_CONTENT)]
    data: Metadata = Field(default_factory=dict)
    occurred_at: Annotated[OptionalMs, NotNull] = optional("When it happened, where that is not now.")


class AppendEpisodesRequest(Request):
    """Episodes of a run."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.APPEND_EPISODES]})

    episodes: Annotated[list[EpisodeRequest], Field(min_length=1, max_length=limits.MAX_EPISODES_WRITTEN)]


class CompleteRunRequest(Request):
    """What a run has come to."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.COMPLETE_RUN]})

    output: RunValue = None


class FailRunRequest(Request):
    """What has gone wrong."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.FAIL_RUN]})

    error: Annotated[
        str,
        Field(description=f"At most {limits.RUN_ERROR_BYTES} bytes in UTF-8."),
        Within(limits.RUN_ERROR),
    ]


class RunsQuery(Request):
    """Which runs to list."""

    agent_id: Annotated[AgentFilter, Field(description="Whose runs; absent: all that the credential reaches.")] = None
    agent_type: Annotated[_TypeFilter, Field(description="Only those of agents of this type.")] = None
    status: Annotated[
        RunStatus | None, WithJsonSchema({"type": "string", "enum": _STATUSES, "examples": ["running"]})
    ] = None
    started_after: Annotated[OptionalMs, Field(description="Started later than this.")] = None
    started_before: Annotated[OptionalEndMs, Field(description="Started earlier than this.")] = None
    parent_run_id: Annotated[
        str | None,
        TextWithin(limits.RUN_ID, episodic_examples.RUN_ID),
        Field(description="Only those that this run has delegated."),
    ] = None
    limit: ListLimit = 20
    cursor: ListCursor = None


class EpisodesQuery(Request):
    """Which episodes to list."""

    agent_id: Annotated[AgentFilter, Field(description="Whose episodes; absent: all that the credential reaches.")] = (
        None
    )
    agent_type: Annotated[_TypeFilter, Field(description="Only those of agents of this type.")] = None
    run_id: Annotated[
        str | None, TextWithin(limits.RUN_ID, episodic_examples.RUN_ID), Field(description="Only those of this run.")
    ] = None
    limit: ListLimit = 10
    cursor: ListCursor = None


class EpisodeAnswer(Answer):
    """Something that has happened in a run."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.EPISODE]})

    id: str
    run_id: str
    agent_id: str
    agent_type: str
    type: str
    content: str
    data: dict[str, Any]
    occurred_at: Timestamp
    created_at: Timestamp = Field(description="When it was written.")


class StartedRunAnswer(Answer):
    """A run, and the last episodes of its agent type."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.STARTED_RUN]})

    run_id: str = Field(validation_alias=AliasPath("run", "id"))
    agent_id: str = Field(validation_alias=AliasPath("run", "agent_id"))
    agent_type: str = Field(validation_alias=AliasPath("run", "agent_type"))
    status: RunStatus = Field(validation_alias=AliasPath("run", "status"))
    started_at: Timestamp = Field(validation_alias=AliasPath("run", "started_at"))
    input: Any = Field(validation_alias=AliasPath("run", "input"), description="What it was started with.")
    episodes: list[EpisodeAnswer] = Field(description="Newest first; their ids are kept with the run.")


class RunAnswer(Answer):
    """A run."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.RUN]})

    run_id: str = Field(validation_alias="id")
    agent_id: str
    agent_type: str
    status: RunStatus
    started_at: Timestamp
    input: Any = Field(description="What it was started with.")
    episode_ids: list[str] = Field(description="The episodes that it was given when it began, newest first.")
    ended_at: OptionalTimestamp = absent_if_none("Absent: it is running.")
    output: Annotated[Any, WithJsonSchema({})] = absent_if_none("What it was completed with. Absent: nothing.")
    error: OptionalText = absent_if_none("What it has failed of.")
    workflow_id: OptionalText = absent_if_none("The workflow that was selected for it last.")
    parent_run_id: OptionalText = absent_if_none("The run that has delegated it.")
    handed_over: Annotated[Any, WithJsonSchema({})] = absent_if_none(
        "What its parent has given it to know. Only in the answer of the run itself."
    )


class RunsAnswer(Answer):
    """Runs, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.RUNS]})

    runs: list[RunAnswer]
    cursor: OptionalText = next_cursor()


class EpisodesAnswer(Answer):
    """Episodes, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.EPISODES]})

    episodes: list[EpisodeAnswer]
    cursor: OptionalText = next_cursor()


class AppendedAnswer(Answer):
    """What became of the episodes."""

    model_config = ConfigDict(json_schema_extra={"examples": [episodic_examples.APPENDED]})

    written: int = Field(description="How many were written.")
    known: int = Field(description="How many had been written before, and stay as they are.")
