"""Types of working memory.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict


@dataclass(frozen=True, slots=True)
class WorkingWritten:
    """A value that was set.

    Attributes:
        etag: As the header ``ETag`` says it.
        version: It rises with every write, and never comes back.
        bytes: Of the key and of the value as JSON, in UTF-8.
    """

    key: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class WorkingValue:
    """What a key holds.

    Attributes:
        etag: As the header ``ETag`` says it.
        version: It rises with every write, and never comes back.
        bytes: Of the key and of the value as JSON, in UTF-8.
        value: Any JSON.
    """

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
    """All keys of an instance, and its budget."""

    keys: tuple[WorkingValue, ...]
    budget: WorkingBudget


@dataclass(frozen=True, slots=True)
class TurnStateWritten:
    """The turn state of a run that was set.

    Attributes:
        etag: As the header ``ETag`` says it.
        version: It rises with every write, and never comes back.
        bytes: What it counts in the budget of the instance that is named as the run.
    """

    run_id: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TurnState:
    """The turn state of a run.

    Attributes:
        etag: As the header ``ETag`` says it.
        version: It rises with every write, and never comes back.
        bytes: What it counts in the budget of the instance that is named as the run.
        value: Any JSON.
    """

    run_id: str
    etag: str
    version: int
    bytes: int
    expires_at: datetime
    value: Any


@dataclass(frozen=True, slots=True)
class RunLogAppended:
    """What was appended to the log of a run.

    Attributes:
        last: The number of the last entry.
    """

    appended: int
    last: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunLogEntry:
    """An entry of a run's log.

    Attributes:
        number: It rises from entry to entry, not always by one.
    """

    number: int
    entry: dict[str, Any]
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RunLog:
    """A page of a run's log, oldest first.

    Attributes:
        after: Ask with this for the next page. Absent: there is no more.
    """

    entries: tuple[RunLogEntry, ...]
    after: int | None = None


class AppendedMessage(TypedDict, total=False):
    """A message for a window.

    Attributes:
        role: One of ``system``, ``user``, ``assistant``.
        content: At most 32768 bytes in UTF-8.
        occurred_at: When it was said, at most a day ahead. Absent: a millisecond after the message before it.
        tokens: What it costs, as your model counts. Absent: it is estimated. From 1 to 200,000.
        timestamp: The old name of ``occurred_at``, taken until the next version.
    """

    role: Required[str]
    content: Required[str]
    occurred_at: datetime | None
    tokens: int | None
    timestamp: datetime | None


@dataclass(frozen=True, slots=True)
class MessagesAppended:
    """What became of an append.

    Attributes:
        session_id: The instance: the session of its messages in long-term memory.
        known: Messages that were there already, in the window or in long-term memory.
        messages: What the window holds.
        bytes: Of their content.
        tokens: Of their content, as callers told them, else about.
        expires_at: When the window is moved into long-term memory, unless it is used.
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
    """A message of a window.

    Attributes:
        id: The first 128 bits of SHA-256 over session, role and content.
        timestamp: The old name of ``occurred_at``, given until the next version.
        counted: ``told``: as its caller told them. ``estimated``: a fourth of its ASCII characters, and all others.
    """

    id: str
    role: str
    content: str
    occurred_at: datetime
    tokens: int
    counted: str
    timestamp: datetime | None = None


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """What sums up turns that fell out of a window, and where they are now.

    Attributes:
        id: The places of its first and its last turn.
        since: When the first of its turns was said.
        from_: The old name of ``since``, given until the next version.
        until: When the last of them was said.
        turns: How many they are.
        content: What they say, in their order; empty where there is nothing to tell.
        text: The old name of ``content``, given until the next version.
        tokens: Of the content, about.
        memories: The ids of the memories that its turns are: first those that the content rests on, then others up to
            64.
        made_by: ``model``: a language model, as far as it follows from the turns. ``reader``: their sentences that the
            reader calls facts, instructions or tasks. ``sentences``: their first sentences.
    """

    id: str
    since: datetime
    until: datetime
    turns: int
    content: str
    tokens: int
    memories: tuple[str, ...]
    made_by: str
    from_: datetime | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class SummaryBody:
    """The body of a request for a summary."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SummaryPointer:
    """The request that summarises what fell out of a window.

    Attributes:
        path: POST the body there.
    """

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
class Window:
    """The newest messages of an instance that fit, oldest first.

    Attributes:
        session_id: The instance: the session of its messages in long-term memory.
        tokens: Of all these messages together.
        counted: ``told`` where that is said of each of them. One of ``told``, ``estimated``.
        older: How many older messages the window holds that did not fit.
        expires_at: When the window is moved into long-term memory, unless it is used. Absent: there is none.
        summaries: Of what fell out of it, the newest last, at most 20.
        fallen: All that fell out of it. Absent: nothing did.
    """

    session_id: str
    messages: tuple[WindowMessage, ...]
    tokens: int
    counted: str
    older: int
    summaries: tuple[WindowSummary, ...]
    expires_at: datetime | None = None
    fallen: Fallen | None = None
