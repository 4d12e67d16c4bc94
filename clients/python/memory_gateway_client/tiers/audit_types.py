"""What the operations on the audit answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_gateway_client.tiers.episodic_types import Episode


@dataclass(frozen=True, slots=True)
class Audited:
    """How many tool calls were kept, and how many the run had already."""

    written: int
    known: int


@dataclass(frozen=True, slots=True)
class ReplayRun:
    """How a run began or ended.

    Attributes:
        status: ``running``, ``completed`` or ``failed``.
        input: Of the step ``started``, as is ``episode_ids``; the others are of the step ``ended``.
    """

    run_id: str
    agent_id: str
    agent_type: str
    status: str
    input: Any = None
    episode_ids: tuple[str, ...] | None = None
    workflow_id: str | None = None
    output: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayCall:
    """A tool call, as it was sent.

    Attributes:
        number: In the order of arrival, from 1.
        input_hash: SHA-256, in hex, of the input as canonical JSON.
        outcome: ``ok`` or ``error``.
        ms: How long it took, in milliseconds.
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
    """A recall that named the run. ``detail``: the ids that it returned, and how it was made."""

    recall_id: str
    agent_id: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReplayChild:
    """A run that the run has delegated. ``status``: how it ended, of the step that tells that."""

    run_id: str
    agent_id: str
    agent_type: str
    status: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run.

    Attributes:
        kind: ``started``, ``tool_call``, ``episode``, ``recall``, ``child_started``, ``child_ended`` or ``ended``; it
            says which of the others is there.
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
    """Steps of a run, in order. ``cursor``: None where there are no more."""

    steps: tuple[Step, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An event.

    Attributes:
        event: Such as ``stored``, ``deleted``, ``tool_call``, ``recall``.
        agent_id: None: it concerns all agents.
        written_by: The id of the credential; None: an operator.
    """

    at: datetime
    event: str
    detail: dict[str, Any]
    agent_id: str | None = None
    memory_id: str | None = None
    run_id: str | None = None
    written_by: str | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """An administrative act, or the attempts of a credential in a day that were refused.

    Attributes:
        number: The acts of a tenant are numbered without gaps.
        outcome: ``begun`` (it has not ended, or was killed), ``done``, ``failed`` or ``refused``.
        subject: The ids that it names; None for one that is not kept.
        counts: How many things it concerned.
        attempts: How many attempts were refused; 1 for an act.
        code: Of the error in which it ended.
        operator: Who ran a command.
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
    """Administrative acts, newest first. ``cursor``: None where there are no more."""

    acts: tuple[Act, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEvents:
    """Events, newest first. ``cursor``: None where there are no more."""

    events: tuple[AuditEvent, ...]
    cursor: str | None = None
