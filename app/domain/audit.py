"""What is audited beside the writes to memories: the tool calls of runs, and recalls."""

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
"""What a step of a replay is."""

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
        ms: How long it took in milliseconds, as JSON writes the number.
        called_at: When the caller says that it was, ms since the epoch.
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
        """What the log of its run says of it."""
        outcome: dict[str, Json] = {"outcome": self.outcome, "ms": json.loads(self.ms)}
        return {"event": "tool_call", "call_id": self.id, "tool": self.tool, **outcome}


@dataclass(frozen=True, slots=True)
class LoggedCall(ToolCall):
    """A tool call of a run, as it was kept. ``number``: in the order of arrival, from 1."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class LoggedRecall:
    """A recall that named a run, as it was kept; ``detail`` is what a ``RecallNote`` tells."""

    id: str
    agent_id: str
    detail: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A run that the run has delegated, as it began or ended. ``status``: None where it began."""

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
    """Which events are asked for; None sets no bound. ``after`` and ``before`` are outside of what is asked for."""

    agent_id: str | None = None
    event: str | None = None
    memory_id: str | None = None
    run_id: str | None = None
    written_by: str | None = None
    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event. ``agent_id`` is None where it concerns all agents of the tenant."""

    at: int
    event: str
    detail: Mapping[str, Json]
    agent_id: str | None = None
    memory_id: str | None = None
    run_id: str | None = None
    written_by: str | None = None


@dataclass(slots=True)
class RecallNote:
    """What is noted of a recall while it is made: never its query, nor what a memory says.

    Attributes:
        through: The way by which it came.
        entries: The ids of the memories that were returned, best first.
        channels: The channels that found any of them.
        config: The embedding config that its query was embedded with.
        cached: Whether the query's vector was remembered; None: it has none.
        tokens: Of what was embedded for it, where the provider counts them.
        characters: Of what was embedded for it: none of what was remembered.
        index_queries: How often the index was asked.
        noted: When it ended, by this process's monotonic clock, in seconds.
        id: Its row's, once one is made.
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
    """Recalls of the tenant that left no note; then there is nothing else."""

    def embedded(self, characters: int, tokens: int | None) -> None:
        """Count what was embedded."""
        self.characters += characters
        if tokens is not None:
            self.tokens = (self.tokens or 0) + tokens

    @property
    def detail(self) -> dict[str, Json]:
        """What its row says of it."""
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
        """What the log of its run says of it."""
        return {
            "event": "recalled",
            "recall_id": self.id,
            "entries": len(self.entries),
            "degraded": list(self.degraded),
            "ms": round(self.ms, 3),
        }


@dataclass(slots=True)
class RunNote:
    """An entry for the log of a run that is written later; ``noted`` and ``id`` as in ``RecallNote``."""

    tenant_id: str
    agent_id: str
    run_id: str
    entry: Mapping[str, Json]
    noted: float = 0.0
    id: str = ""
