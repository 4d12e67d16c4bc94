"""The answers of the route that replays a run: its steps, in order."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema

from app.domain.audit import ChildRun, LoggedCall, LoggedRecall, Step
from app.domain.episodes import Episode, Run
from app.interfaces.fields import Answer, Request, Timestamp
from app.interfaces.http.schemas import audit_examples
from app.interfaces.http.schemas.audit import ANY, OBJECT
from app.interfaces.http.schemas.browse import ListCursor, ListLimit
from app.interfaces.http.schemas.episodic import EpisodeAnswer
from app.interfaces.http.schemas.optional import (
    OptionalCodes,
    OptionalText,
    OptionalTimestamp,
    absent_if_none,
    optional,
)


class ReplayQuery(Request):
    """Which part of a replay."""

    limit: ListLimit = 20
    cursor: ListCursor = None


class ReplayRun(Answer):
    """How a run began or ended."""

    run_id: str
    agent_id: str
    agent_type: str
    status: Literal["running", "completed", "failed"]
    input: Annotated[Any, ANY] = optional("Of the step `started`.")
    episode_ids: OptionalCodes = optional("Of the step `started`: the episodes it was given.")
    workflow_id: OptionalText = absent_if_none("Of the step `ended`.")
    output: Annotated[Any, ANY] = optional("Of the step `ended`.")
    error: OptionalText = absent_if_none("Of the step `ended`.")


class ReplayCall(Answer):
    """A tool call, as it was sent."""

    call_id: str
    number: int = Field(description="In the order of arrival, from 1.")
    tool: str
    input: Annotated[Any, ANY] = optional("Absent: only its hash was sent.")
    input_hash: str = Field(description="SHA-256 of the input's canonical JSON, in hex.")
    outcome: Literal["ok", "error"]
    error: OptionalText = absent_if_none()
    output: Annotated[Any, ANY] = optional()
    ms: Annotated[Any, WithJsonSchema({"type": "number"})]
    tokens: Annotated[int | None, WithJsonSchema({"type": "integer"})] = absent_if_none()
    called_at: OptionalTimestamp = absent_if_none()


class ReplayRecall(Answer):
    """A recall that named the run."""

    recall_id: str = Field(validation_alias="id")
    agent_id: str
    detail: Annotated[dict[str, Any], OBJECT] = Field(
        description="The ids of the memories that it returned, the way it came, the channels that found them, ms, how "
        "its query was embedded, what was degraded and what it cost."
    )


class ReplayChild(Answer):
    """A run that the run has delegated."""

    run_id: str = Field(validation_alias="id")
    agent_id: str
    agent_type: str
    status: OptionalText = absent_if_none("Of the step `child_ended`: `completed` or `failed`.")


class StepAnswer(Answer):
    """A step of a run. It has the one field that its kind names: `run`, `call`, `episode`, `recall` or `child`."""

    kind: Literal["started", "tool_call", "episode", "recall", "child_started", "child_ended", "ended"]
    at: Timestamp = Field(description="By the database's clock: of a tool call or an episode when it arrived.")
    run: ReplayRun = optional("How it began or ended.")
    call: ReplayCall = optional("The tool call.")
    episode: EpisodeAnswer = optional("The episode.")
    recall: ReplayRecall = optional("The recall.")
    child: ReplayChild = optional("The run that was delegated.")

    @classmethod
    def of(cls, step: Step) -> Self:
        """Make it of a step."""
        what: dict[str, Any]
        match step.what:
            case Run() as run:
                what = {"run": _run(run, step.kind)}
            case LoggedCall() as call:
                what = {"call": _call(call)}
            case Episode() as episode:
                what = {"episode": episode}
            case LoggedRecall() as recall:
                what = {"recall": recall}
            case ChildRun() as child:
                what = {"child": child}
        return cls.model_validate({"kind": step.kind, "at": step.at, **what})


class ReplayAnswer(Answer):
    """What happened in a run, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": [audit_examples.REPLAY]})

    steps: list[StepAnswer]
    cursor: OptionalText = absent_if_none("Present when there is more: ask the same again, with it.")


def _run(run: Run, kind: str) -> dict[str, Any]:
    begun = {"run_id": run.id, "agent_id": run.agent_id, "agent_type": run.agent_type}
    if kind == "started":
        return begun | {"status": "running", "input": run.input, "episode_ids": run.episode_ids}
    output = {} if run.output is None else {"output": run.output}
    return begun | output | {"status": run.status, "workflow_id": run.workflow_id, "error": run.error}


def _call(call: LoggedCall) -> dict[str, Any]:
    values = {"input": call.input, "output": call.output, "ms": call.ms}
    return {
        "call_id": call.id,
        "number": call.number,
        "tool": call.tool,
        "input_hash": call.input_hash,
        "outcome": call.outcome,
        "error": call.error,
        "tokens": call.tokens,
        "called_at": call.called_at,
        **{name: json.loads(text) for name, text in values.items() if text is not None},
    }
