"""The audit of tool calls and of recalls; writes to memories are audited elsewhere."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.domain.episodes import Episode, Run, RunStatus
from app.domain.json_types import Json

Outcome: TypeAlias = Literal["ok", "error"]
"""How a tool call ended."""
StepKind: TypeAlias = Literal["started", "tool_call", "episode", "recall", "child_started", "child_ended", "ended"]
"""The kind of a step of a replay."""

_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def canonical_json(value: Json) -> str:
    """Write JSON in its one form: keys sorted by code point, no white space, nothing escaped that need not be."""
    return _canonical(value)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as its caller reports it.

    Attributes:
        input: Canonical JSON; None: only its hash was sent.
        input_hash: SHA-256 of the canonical JSON, in hex.
        output: Canonical JSON; None: none was sent.
        ms: How long the call took in milliseconds, as JSON writes the number.
        called_at: When the call was made, as the caller says, in ms since the epoch.
    """

    id: str
    tool: str
    input: str | None
    input_hash: str
    outcome: Outcome
    ms: str
    error: str | None = None
    output: str | None = None
    tokens: int | None = None
    called_at: int | None = None

    @property
    def entry(self) -> dict[str, Json]:
        """The call's entry in the log of its run."""
        outcome: dict[str, Json] = {"outcome": self.outcome, "ms": json.loads(self.ms)}
        return {"event": "tool_call", "call_id": self.id, "tool": self.tool, **outcome}


@dataclass(frozen=True, slots=True)
class LoggedCall(ToolCall):
    """A tool call of a run, as it was kept. ``number`` counts the run's calls in the order of arrival, from 1."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class LoggedRecall:
    """A recall that named a run, as it was kept; ``detail`` is the detail of a ``RecallNote``."""

    id: str
    agent_id: str
    detail: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ChildRun:
    """The beginning or the end of a run that a run has delegated. ``status`` is None for the beginning."""

    id: str
    agent_id: str
    agent_type: str
    status: RunStatus | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a replay: ``what`` fits its kind, and ``at`` is in ms since the epoch by the database's clock."""

    kind: StepKind
    at: int
    what: Run | LoggedCall | Episode | LoggedRecall | ChildRun


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The conditions on events that a listing returns; None sets no condition.

    ``after`` and ``before`` are exclusive bounds.
    """

    agent_id: str | None = None
    event: str | None = None
    memory_id: str | None = None
    run_id: str | None = None
    written_by: str | None = None
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event. ``agent_id`` is None where the event concerns all agents of the tenant."""

    at: int
    event: str
    detail: Mapping[str, Json]
    agent_id: str | None = None
    memory_id: str | None = None
    run_id: str | None = None
    written_by: str | None = None


@dataclass(slots=True)
class RecallNote:
    """The notes of a recall, taken while it is made: never its query, nor the content of a memory.

    Attributes:
        through: The way by which the request came: one of ``WriteChannel``.
        entries: The ids of the memories that were returned, best first.
        channels: The channels that found any of them.
        config: The embedding config that the recall's query was embedded with.
        cached: Whether the query's vector came from the cache; None: the query has no vector.
        tokens: Tokens of the texts that were embedded for the recall, where the provider counts them.
        characters: Characters of the texts that were embedded for the recall; texts from the cache do not count.
        index_queries: How often the recall queried the index.
        noted: When the recall ended, by this process's monotonic clock, in seconds.
        id: The id of the note's row, once the row is made.
    """

    tenant_id: str
    agent_id: str
    through: str
    run_id: str | None = None
    written_by: str | None = None
    entries: Sequence[str] = ()
    channels: Sequence[str] = ()
    degraded: Sequence[str] = ()
    ms: float = 0.0
    config: str = ""
    cached: bool | None = None
    tokens: int | None = None
    characters: int = 0
    index_queries: int = 0
    noted: float = 0.0
    id: str = ""
    dropped: int = field(default=0)
    """How many recalls of the tenant left no note; where it is above 0, the note says nothing else."""

    def embedded(self, characters: int, tokens: int | None) -> None:
        """Count the characters, and the tokens where the provider counts them, of embedded texts."""
        self.characters += characters
        if tokens is not None:
            self.tokens = (self.tokens or 0) + tokens

    @property
    def detail(self) -> dict[str, Json]:
        """The detail of the recall's row in the audit."""
        if self.dropped:
            return {"dropped": self.dropped}
        return {
            "entries": list(self.entries),
            "through": self.through,
            "channels": list(self.channels),
            "degraded": list(self.degraded),
            "ms": round(self.ms, 3),
            "embedding": {"config": self.config, "cached": self.cached},
            "cost": {"tokens": self.tokens, "characters": self.characters, "index_queries": self.index_queries},
        }

    @property
    def entry(self) -> dict[str, Json]:
        """The recall's entry in the log of its run."""
        return {
            "event": "recalled",
            "recall_id": self.id,
            "entries": len(self.entries),
            "degraded": list(self.degraded),
            "ms": round(self.ms, 3),
        }


@dataclass(slots=True)
class RunNote:
    """An entry for the log of a run that is written later; ``noted`` and ``id`` are as in ``RecallNote``."""

    tenant_id: str
    agent_id: str
    run_id: str
    entry: Mapping[str, Json]
    noted: float = 0.0
    id: str = ""
