"""Types of audit.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict

from memory_gateway_client.types.episodes import Episode


class ToolCallRequest(TypedDict, total=False):
    """A tool call of a run. It has ``input`` or ``input_hash``, not both.

    Attributes:
        call_id: A ULID: a call that is sent again with it is known. Absent: one is made, and sent again it is another.
        tool: What the tool is called.
        input: Any JSON, at most 131072 bytes, nested at most 16 deep.
        input_hash: SHA-256 of the input's canonical JSON, in hex, in place of the input.
        outcome: One of ``ok``, ``error``.
        error: At most 1024 bytes in UTF-8.
        output: Any JSON, at most 10240 bytes, nested at most 16 deep.
        ms: How long it took, in milliseconds.
        tokens: What it cost, where it calls a model.
        called_at: When it was, to the millisecond.
    """

    call_id: str | None
    tool: Required[str]
    input: Any
    input_hash: str | None
    outcome: Required[str]
    error: str | None
    output: Any
    ms: Required[float]
    tokens: int | None
    called_at: datetime | None


@dataclass(frozen=True, slots=True)
class Audited:
    """What became of the calls. What arrived after the end of the run is in the audit, and not in the replay.

    Attributes:
        known: Calls that the run has already. They stay as they are.
    """

    written: int
    known: int


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """How a run began or ended.

    Attributes:
        status: One of ``running``, ``completed``, ``failed``.
        input: Of the step ``started``.
        episode_ids: Of the step ``started``: the episodes it was given.
        workflow_id: Of the step ``ended``.
        output: Of the step ``ended``.
        error: Of the step ``ended``.
    """

    run_id: str
    agent_id: str
    agent_type: str
    status: str
    input: Any = None
    episode_ids: tuple[str, ...] = ()
    workflow_id: str | None = None
    output: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayCall:
    """A tool call, as it was sent.

    Attributes:
        number: In the order of arrival, from 1.
        input: Absent: only its hash was sent.
        input_hash: SHA-256 of the input's canonical JSON, in hex.
        outcome: One of ``ok``, ``error``.
    """

    call_id: str
    number: int
    tool: str
    input_hash: str
    outcome: str
    ms: float
    input: Any = None
    error: str | None = None
    output: Any = None
    tokens: int | None = None
    called_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ReplayRecall:
    """A recall that named the run.

    Attributes:
        detail: The ids of the memories that it returned, the way it came, the channels that found them, ms, how its
            query was embedded, what was degraded and what it cost.
    """

    recall_id: str
    agent_id: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayChild:
    """A run that the run has delegated.

    Attributes:
        status: Of the step ``child_ended``: ``completed`` or ``failed``.
    """

    run_id: str
    agent_id: str
    agent_type: str
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run.

    It has the one field that its kind names: ``run``, ``call``, ``episode``, ``recall`` or ``child``.

    Attributes:
        kind: One of ``started``, ``tool_call``, ``episode``, ``recall``, ``child_started``, ``child_ended``, ``ended``.
        at: By the database's clock: of a tool call or an episode when it arrived.
        run: How it began or ended.
        call: The tool call.
        episode: The episode.
        recall: The recall.
        child: The run that was delegated.
    """

    kind: str
    at: datetime
    run: ReplayRun | None = None
    call: ReplayCall | None = None
    episode: Episode | None = None
    recall: ReplayRecall | None = None
    child: ReplayChild | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """What happened in a run, in order.

    Attributes:
        cursor: Present when there is more: ask the same again, with it.
    """

    steps: tuple[Step, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event.

    Attributes:
        agent_id: Absent: it concerns all agents.
        detail: By event; never a content or a query.
        written_by: The id of the credential. Absent: an operator.
    """

    at: datetime
    event: str
    detail: dict[str, Any]
    agent_id: str | None = None
    memory_id: str | None = None
    run_id: str | None = None
    written_by: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvents:
    """Events, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    events: tuple[AuditEvent, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """An administrative act, or the attempts of a credential in a day that were refused.

    Attributes:
        number: The rows of a tenant are numbered without gaps.
        outcome: ``begun``: it has not ended, or was killed. ``done``, ``failed``, ``refused``.
        code: Of the error in which it ended.
        credential_id: Absent: a command, or it is not known.
        operator: Who ran a command, as the operating system names them.
        subject: The ids that it names. Null: what was named has not the form of an id, and is not kept.
        counts: How many things it concerned.
        attempts: How many attempts were refused; 1 for an act.
        ended_at: Of attempts that were refused: the last.
        signature: Absent until it has ended. ``memory-gateway acts verify`` checks it.
    """

    number: int
    id: str
    act: str
    outcome: str
    channel: str
    subject: dict[str, Any]
    counts: dict[str, Any]
    attempts: int
    begun_at: datetime
    code: str | None = None
    credential_id: str | None = None
    operator: str | None = None
    request_id: str | None = None
    ended_at: datetime | None = None
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Acts:
    """Administrative acts, newest first.

    Attributes:
        cursor: Present when there are more: ask the same again, with it.
    """

    acts: tuple[Act, ...]
    cursor: str | None = None
