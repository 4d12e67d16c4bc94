"""What the service answers of working memory."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkingWritten:
    """A key that was set.

    Attributes:
        etag: Say it as ``if_match`` to change the key only while it holds this.
        bytes: What it counts in the budget of its instance.
    """

    key: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class WorkingValue:
    """What a key holds."""

    key: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime
    value: Any


@dataclass(frozen=True, slots=True)
class WorkingBudget:
    """How much an instance holds, in bytes of keys and values."""

    used_bytes: int
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class Working:
    """All keys of an instance."""

    keys: tuple[WorkingValue, ...]
    budget: WorkingBudget


@dataclass(frozen=True, slots=True)
class TurnStateWritten:
    """The turn state of a run that was set."""

    run_id: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TurnState:
    """The turn state of a run."""

    run_id: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime
    value: Any


@dataclass(frozen=True, slots=True)
class RunLogAppended:
    """What was appended to the log of a run; ``last`` is the number of the last entry."""

    appended: int
    last: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunLogEntry:
    """An entry of a run's log."""

    number: int
    entry: dict[str, Any]
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunLog:
    """A page of a run's log, oldest first; ``after`` is for the next page, None where there is none."""

    entries: tuple[RunLogEntry, ...]
    after: int | None = None


@dataclass(frozen=True, slots=True)
class MessagesAppended:
    """What became of messages that were appended to a window.

    Attributes:
        known: How many were there already, in the window or in long-term memory.
        messages: How many the window holds.
        bytes: Of their content.
        tokens: Of their content, as callers told them, else about.
    """

    session_id: str
    appended: int
    known: int
    messages: int
    bytes: int
    tokens: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """A message of a window."""

    id: str
    role: str
    content: str
    occurred_at: datetime
    tokens: int
    counted: str
    """``told`` where its caller told its tokens; else ``estimated``."""


@dataclass(frozen=True, slots=True)
class SummaryBody:
    """The body of a request for a summary."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SummaryPointer:
    """The request that summarises what fell out of a window."""

    path: str
    body: SummaryBody


@dataclass(frozen=True, slots=True)
class Fallen:
    """All that fell out of a window into long-term memory."""

    messages: int
    since: datetime
    until: datetime
    summary: SummaryPointer


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """What sums up turns that fell out of a window, and where they are now.

    Attributes:
        id: The places of its first and its last turn.
        since: When the first of its turns was said; ``until``: when the last one was.
        turns: How many they are.
        content: What they say; empty where there is nothing to tell.
        tokens: Of the content, about.
        memories: The ids of the memories that its turns are.
        made_by: ``model``, ``reader`` or ``sentences``.
    """

    id: str
    since: datetime
    until: datetime
    turns: int
    content: str
    tokens: int
    memories: tuple[str, ...]
    made_by: str


@dataclass(frozen=True, slots=True)
class Window:
    """The newest messages of an instance that fit, oldest first; ``older`` counts those that it holds beside them.

    Attributes:
        counted: ``told`` where that is said of the tokens of each message; else ``estimated``.
        summaries: Of what fell out of it, the newest last.
        fallen: All that fell out of it.
    """

    session_id: str
    messages: tuple[WindowMessage, ...]
    tokens: int
    counted: str
    older: int
    summaries: tuple[WindowSummary, ...]
    expires_at: datetime | None = None
    fallen: Fallen | None = None
