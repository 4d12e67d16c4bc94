"""The answers of the route that replays a run: its steps, in order."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, WithJsonSchema

from app.domain.audit import ChildRun, LoggedCall, LoggedRecall, RunState, Step
from app.domain.episodes import Episode
from app.interfaces.fields import Answer, Request, Timestamp
from app.interfaces.http.schemas import audit_examples
from app.interfaces.http.schemas.audit import ANY, MOMENT, OBJECT, TEXT, absent
from app.interfaces.http.schemas.browse import ListCursor, ListLimit
from app.interfaces.http.schemas.episodic import EpisodeAnswer

_CODES = WithJsonSchema({"type": "array", "items": {"type": "string"}})


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
    input: Annotated[Any, ANY] = absent("Of the step `started`.")
    episode_ids: Annotated[list[str] | None, _CODES] = absent("Of the step `started`: the episodes it was given.")
    workflow_id: Annotated[str | None, TEXT] = absent("Of the step `ended`.")
    output: Annotated[Any, ANY] = absent("Of the step `ended`.")
    error: Annotated[str | None, TEXT] = absent("Of the step `ended`.")


class ReplayCall(Answer):
    """A tool call, as it was sent."""

    call_id: str
    number: int = Field(description="In the order of arrival, from 1.")
    tool: str
    input: Annotated[Any, ANY] = absent("Absent: only its hash was sent.")
    input_hash: str = Field(description="SHA-256 of the input's canonical JSON, in hex.")
    outcome: Literal["ok", "error"]
    error: Annotated[str | None, TEXT] = absent()
    output: Annotated[Any, ANY] = absent()
    ms: Annotated[Any, WithJsonSchema({"type": "number"})]
    tokens: Annotated[int | None, WithJsonSchema({"type": "integer"})] = absent()
    called_at: Annotated[Timestamp | None, MOMENT] = absent()


class ReplayRecall(Answer):
    """A recall that named the run."""

    recall_id: str
    agent_id: str
    detail: Annotated[dict[str, Any], OBJECT] = Field(
        description="The ids of the memories that it returned, the way it came, the channels that found them, ms, how "
        "its query was embedded, what was degraded and what it cost."
    )


class ReplayChild(Answer):
    """A run that the run has delegated."""

    run_id: str
    agent_id: str
    agent_type: str
    status: Annotated[str | None, TEXT] = absent("Of the step `child_ended`: `completed` or `failed`.")


class StepAnswer(Answer):
    """A step of a run. It has the one field that its kind names: `run`, `call`, `episode`, `recall` or `child`."""

    kind: Literal["started", "tool_call", "episode", "recall", "child_started", "child_ended", "ended"]
    at: Timestamp = Field(description="By the database's clock: of a tool call or an episode when it arrived.")
    run: ReplayRun = absent("How it began or ended.")
    call: ReplayCall = absent("The tool call.")
    episode: EpisodeAnswer = absent("The episode.")
    recall: ReplayRecall = absent("The recall.")
    child: ReplayChild = absent("The run that was delegated.")

    @classmethod
    def of(cls, step: Step) -> Self:
        """Make it of a step."""
        what: dict[str, Any]
        match step.what:
            case RunState() as run:
                what = {"run": _run(run, step.kind)}
            case LoggedCall() as call:
                what = {"call": _call(call)}
            case Episode() as episode:
                what = {"episode": EpisodeAnswer.model_validate(episode)}
            case LoggedRecall() as recall:
                what = {"recall": {"recall_id": recall.id, "agent_id": recall.agent_id, "detail": recall.detail}}
            case ChildRun() as child:
                told = {"run_id": child.id, "agent_id": child.agent_id, "agent_type": child.agent_type}
                what = {"child": told | _some(status=child.status)}
        return cls.model_validate({"kind": step.kind, "at": step.at, **what})


class ReplayAnswer(Answer):
    """What happened in a run, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": [audit_examples.REPLAY]})

    steps: list[StepAnswer]
    cursor: Annotated[str | None, TEXT] = absent("Present when there is more: ask the same again, with it.")


def _run(run: RunState, kind: str) -> dict[str, Any]:
    told: dict[str, Any] = {
        "run_id": run.id,
        "agent_id": run.agent_id,
        "agent_type": run.agent_type,
        "status": "running" if kind == "started" else run.status,
    }
    if kind == "started":
        return told | {"input": _value(run.input), "episode_ids": list(run.episode_ids)}
    output = {} if run.output is None else {"output": _value(run.output)}
    return told | output | _some(workflow_id=run.workflow_id, error=run.error)


def _call(call: LoggedCall) -> dict[str, Any]:
    return {
        "call_id": call.id,
        "number": call.number,
        "tool": call.tool,
        "input_hash": call.input_hash,
        "outcome": call.outcome,
        "ms": json.loads(call.ms),
        **{name: json.loads(text) for name, text in _some(input=call.input, output=call.output).items()},
        **_some(error=call.error, tokens=call.tokens, called_at=call.called_at),
    }


def _some(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    return {name: value for name, value in values.items() if value is not None}


def _value(text: str | None) -> Any:  # noqa: ANN401 - any JSON
    return None if text is None else json.loads(text)
