"""The answers of a profile: an answer with the memories it may rest on, and a memory with its versions and sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.memory import Memory
from app.domain.messages import Role
from app.domain.query import Entry

ResponseLength: TypeAlias = Literal["short", "medium", "long"]
ThinkingLevel: TypeAlias = Literal["low", "medium", "high"]

UNGROUNDED = "model_answer_ungrounded"
"""In ``degraded``: the memories that a language model's answer cites support none of its sentences."""
QUOTED_INSTEAD = frozenset(
    ("model_unavailable", "model_timeout", "model_quota_exceeded", "model_answer_rejected", UNGROUNDED)
)
"""The values of ``degraded`` that say why memories are quoted in place of a language model's answer.

They do not say that a memory is missing from the answer.
"""

MAX_SUMMARY = 120
"""Characters of the line by which a memory is shown in a list."""


@dataclass(frozen=True, slots=True)
class ProfileInstruction:
    """A standing instruction that holds now and may concern a query."""

    id: str
    content: str
    created_at: int
    occurred_at: int | None = None

    @property
    def happened_at(self) -> int:
        """The moment at which it was said, or else stored."""
        return self.created_at if self.occurred_at is None else self.occurred_at


@dataclass(frozen=True, slots=True)
class ProfileRecall:
    """An answer, and the memories that it may rest on, best first."""

    answer: str
    """"" where no memory is sure enough to answer the query."""
    entries: Sequence[Entry]
    """The memories, best first; empty where probably no memory is about the query's subject."""
    degraded: Sequence[str] = ()
    """Why memories may be missing, as a recall says, and why no language model has written the answer as it was to."""
    cited: Sequence[str] = ()
    """The ids of the memories that the answer is made of, each once."""
    instructions: Sequence[ProfileInstruction] = ()
    """At most three, first those whose score says that they concern the query, best first, and then the newest."""

    agent: Literal["unknown"] | None = None
    """"unknown" where nothing was ever stored for the profile, and it was never set."""

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """A summary of what a profile's memories say."""

    text: str
    """The summary in Markdown; "" where the profile has no memories for it."""
    degraded: Sequence[str] = ()
    """Why no language model has written the summary as it was to."""


@dataclass(frozen=True, slots=True)
class Version:
    """One of the memories that stated the value of a key."""

    key: str
    memory_id: str
    summary: str
    happened_at: int
    created_at: int
    occurred_at: int | None
    superseded_at: int | None
    """When the memory that replaced this one was said; None: this one holds."""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that is the memory, or of which a model has learned the memory."""

    id: str
    role: Role
    session_id: str | None
    said_at: int
    memory_id: str
    """The id of the memory that the message is."""


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """A memory, the versions of its keys, key by key and oldest first, and the messages that it comes from."""

    memory: Memory
    versions: Sequence[Version]
    sources: Sequence[SourceMessage]


def first_line(content: str) -> str:
    """Return the first line of a content; a long line is cut, at the end of a word where it can be."""
    line = next((stripped for part in content[: 10 * MAX_SUMMARY].splitlines() if (stripped := part.strip())), "")
    line = " ".join((line or content.strip()[:MAX_SUMMARY]).split())
    if len(line) <= MAX_SUMMARY:
        return line
    cut = line[: MAX_SUMMARY - 1]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > MAX_SUMMARY // 2 else cut).rstrip() + "\u2026"
