"""Types of agent memory.

Made of the OpenAPI document by `make client`: what is changed here is lost.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict


@dataclass(frozen=True, slots=True)
class AgentMemoryNamespace:
    """A namespace.

    Attributes:
        account_id: As the path has it.
    """

    id: str
    name: str
    account_id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CloudflareErrorSource:
    """Where in a request a mistake is.

    Attributes:
        pointer: The field, as a JSON pointer.
    """

    pointer: str


@dataclass(frozen=True, slots=True)
class CloudflareError:
    """One error, or one message.

    Attributes:
        code: Cloudflare's code where it has one, else 1000 and the status.
    """

    code: int
    message: str
    source: CloudflareErrorSource | None = None


@dataclass(frozen=True, slots=True)
class AgentMemoryNamespaceEnvelope:
    """One namespace.

    Attributes:
        success: Whether there is a result.
        messages: Always empty.
    """

    result: AgentMemoryNamespace
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudflareResultInfo:
    """Where a listing goes on.

    Attributes:
        cursor: For the next page; empty: there is none.
        count: Entries of this page.
    """

    cursor: str
    per_page: int
    count: int


@dataclass(frozen=True, slots=True)
class AgentMemoryNamespacesPage:
    """A page of namespaces.

    Attributes:
        success: Whether there is a result.
        messages: Always empty.
    """

    result: tuple[AgentMemoryNamespace, ...]
    result_info: CloudflareResultInfo
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudflareNothing:
    """An answer without a result.

    Attributes:
        result: Always null.
        success: Whether there is a result.
        messages: Always empty.
    """

    result: dict[str, Any] | None = None
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()


class AgentMemoryMessage(TypedDict, total=False):
    """A message of a conversation.

    Attributes:
        role: One of ``system``, ``user``, ``assistant``.
        content: At most 32768 bytes in UTF-8.
        timestamp: When it was said, at most a day ahead. Absent: a millisecond after the message before it.
    """

    role: Required[str]
    content: Required[str]
    timestamp: str | None


@dataclass(frozen=True, slots=True)
class AgentMemoryMemory:
    """A memory.

    Attributes:
        type: One of ``fact``, ``instruction``, ``event``, ``task``.
        summary: Its first line, cut where it is long.
    """

    id: str
    type: str
    summary: str
    content: str
    session_id: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class AgentMemoryMemoryEnvelope:
    """One memory.

    Attributes:
        success: Whether there is a result.
        messages: Always empty.
    """

    result: AgentMemoryMemory
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentMemoryScoredCandidate:
    """A memory that an answer may rest on.

    Attributes:
        score: How likely it answers the query, 0 to 1.
    """

    id: str
    summary: str
    session_id: str | None
    score: float


@dataclass(frozen=True, slots=True)
class AgentMemoryRecallResult:
    """An answer, and the memories that it may rest on.

    Attributes:
        answer: Empty where no memory answers the query.
        count: Candidates.
        candidates: The best first.
    """

    answer: str
    count: int
    candidates: tuple[AgentMemoryScoredCandidate, ...]


@dataclass(frozen=True, slots=True)
class AgentMemoryRecallEnvelope:
    """What a recall has found.

    Attributes:
        success: Whether there is a result.
        messages: Always empty.
    """

    result: AgentMemoryRecallResult
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentMemoryMemoryListEntry:
    """A memory of a listing, without its content.

    Attributes:
        type: One of ``fact``, ``instruction``, ``event``, ``task``.
        summary: Its first line, cut where it is long.
    """

    id: str
    type: str
    summary: str
    session_id: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class AgentMemoryMemoriesPage:
    """A page of memories, newest first.

    Attributes:
        success: Whether there is a result.
        messages: Always empty.
    """

    result: tuple[AgentMemoryMemoryListEntry, ...]
    result_info: CloudflareResultInfo
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentMemoryGetSummaryResponse:
    """What is remembered.

    Attributes:
        summary: Markdown; empty where nothing holds.
    """

    summary: str


@dataclass(frozen=True, slots=True)
class AgentMemorySummaryEnvelope:
    """A summary.

    Attributes:
        success: Whether there is a result.
        messages: Always empty.
    """

    result: AgentMemoryGetSummaryResponse
    success: bool = True
    errors: tuple[CloudflareError, ...] = ()
    messages: tuple[CloudflareError, ...] = ()
