"""Requests and answers of the routes for workflows."""

from typing import Annotated, Any, TypeAlias

from fastapi import Path
from pydantic import AliasPath, ConfigDict, Field, WithJsonSchema

from app.domain import limits
from app.interfaces.fields import Answer, Digits, Number, Request, Timestamp, Within, WorkflowSpec
from app.interfaces.http.schemas import examples
from app.interfaces.http.schemas.browse import ListCursor, ListLimit
from app.interfaces.http.schemas.optional import NotNull, OptionalText, TextWithin, old_name, optional

_Name: TypeAlias = Annotated[str, Within(limits.AGENT_ID)]
_AgentType: TypeAlias = Annotated[
    _Name, Field(description="The agents that it is for.", json_schema_extra={"examples": [examples.AGENT_TYPE]})
]
_TaskType: TypeAlias = Annotated[
    _Name, Field(description="The task that it competes for.", json_schema_extra={"examples": [examples.TASK_TYPE]})
]


WorkflowId: TypeAlias = Annotated[
    str,
    Path(description="The workflow: any id but `select`.", examples=[examples.WORKFLOW_ID]),
    Within(limits.AGENT_ID),
]
WorkflowVersionNumber: TypeAlias = Annotated[
    int, Digits, Path(description="The version of its spec.", examples=[1]), Within(limits.WORKFLOW_VERSION)
]
_Interval: TypeAlias = Annotated[
    list[float],
    Field(
        description="The bounds between which the rate of success lies with a probability of 95 %.",
        min_length=2,
        max_length=2,
    ),
]
_RunId: TypeAlias = Annotated[str, Within(limits.RUN_ID)]
_RUN_ID = TextWithin(limits.RUN_ID, examples.RUN_ID)


class WorkflowRequest(Request):
    """A workflow to put. What is absent is as at first, except its counts, which stay."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.WORKFLOW_PUT]})

    agent_type: _AgentType
    task_type: _TaskType
    spec: WorkflowSpec
    discount: Annotated[
        float,
        Number,
        Within(limits.DISCOUNT),
        Field(description="What is left of its counts at each outcome of its task: 1 forgets nothing."),
    ] = 1.0
    enabled: Annotated[bool, Field(strict=True, description="Whether it is selected.")] = True


class PosteriorAnswer(Answer):
    """What is known of a workflow's rate of success: a Beta distribution, Beta(1, 1) at first."""

    alpha: float = Field(description="1, and all scores, as they count for who asks.", ge=1)
    beta: float = Field(description="1, and what the scores lack of 1, as they count for who asks.", ge=1)
    mean: float = Field(ge=0, le=1)


class ListedWorkflowAnswer(PosteriorAnswer):
    """A workflow without its spec."""

    workflow_id: str
    agent_type: str
    task_type: str
    discount: float
    enabled: bool
    interval: _Interval
    created_at: Timestamp
    updated_at: Timestamp = Field(description="When it was put last.")
    version: int = Field(description="Of its spec, from 1.")


class WorkflowAnswer(ListedWorkflowAnswer):
    """A workflow."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.WORKFLOW]})

    spec: dict[str, Any]


class WorkflowTextAnswer(Answer):
    """Who wrote a spec of a workflow, by which way and when."""

    version: int
    written_by: str | None = Field(None, description="The credential's id; absent: none, or it is not known.")
    channel: str | None = Field(
        None,
        validation_alias=AliasPath("written_through"),
        description="By which way it came, such as `http`; absent: it is not known.",
    )
    written_through: OptionalText = old_name("channel")
    written_at: Timestamp


class WorkflowVersionsAnswer(Answer):
    """The specs of a workflow, newest first; the first is that which it has."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.WORKFLOW_VERSIONS]})

    versions: list[WorkflowTextAnswer]


class WorkflowVersionAnswer(WorkflowTextAnswer):
    """A spec of a workflow."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.WORKFLOW_VERSION]})

    spec: dict[str, Any]


class WorkflowsQuery(Request):
    """Which workflows to list."""

    agent_type: Annotated[
        str | None, TextWithin(limits.AGENT_ID, examples.AGENT_TYPE), Field(description="Only those for these agents.")
    ] = None
    task_type: Annotated[
        str | None, TextWithin(limits.AGENT_ID, examples.TASK_TYPE), Field(description="Only those for this task.")
    ] = None
    limit: ListLimit = 20
    cursor: ListCursor = None


class WorkflowsAnswer(Answer):
    """Workflows, in order of id."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.WORKFLOWS]})

    workflows: list[ListedWorkflowAnswer]
    cursor: str | None = Field(None, description="Present when there are more: ask the same again, with it.")


class PictureQuery(Request):
    """Whose posteriors to draw."""

    agent_type: _AgentType
    task_type: _TaskType


class SelectRequest(Request):
    """For what to select a workflow."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.SELECT]})

    agent_type: _AgentType
    task_type: _TaskType
    seed: Annotated[
        Annotated[int, Number, Within(limits.SEED)] | None,
        NotNull,
        WithJsonSchema({"type": "integer", **limits.SEED.schema}),
    ] = optional("With the same seed and counts the same is chosen. Absent: chance.")
    run_id: Annotated[_RunId | None, NotNull, _RUN_ID] = optional(
        "The running run that it is for, in which the choice is noted."
    )


class SelectionAnswer(PosteriorAnswer):
    """The workflow that was chosen."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.SELECTED]})

    workflow_id: str
    spec: dict[str, Any]
    interval: _Interval
    sampled: float = Field(description="The rate that was drawn for it: the highest of all.", ge=0, le=1)


class OutcomeRequest(Request):
    """How well a run did with a workflow."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.OUTCOME]})

    run_id: Annotated[_RunId, _RUN_ID]
    score: Annotated[
        float, Number, Within(limits.SCORE), Field(description="0: it failed, 1: it succeeded. Six decimals count.")
    ]


class OutcomeAnswer(PosteriorAnswer):
    """The workflow's posterior with the outcome."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.OUTCOME_COUNTED]})

    counted: bool = Field(description="False: an outcome of this run was counted before, and nothing was changed.")
