"""What a profile answers: an answer with the memories it may rest on, and a memory with its versions and sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.memory import Memory
from app.domain.messages import Role
from app.domain.query import Finding

ResponseLength: TypeAlias = Literal["short", "medium", "long"]
ThinkingLevel: TypeAlias = Literal["low", "medium", "high"]

UNGROUNDED = "model_answer_ungrounded"
"""``degraded``: no sentence of a language model stands in the memories that it cites."""
QUOTED_INSTEAD = frozenset(
    ("model_unavailable", "model_timeout", "model_quota_exceeded", "model_answer_rejected", UNGROUNDED)
)
"""What ``degraded`` says where a language model was to write an answer, and memories are quoted instead: none of these
is missing for that."""

MAX_SUMMARY = 120
"""Characters of the line by which a memory is shown in a list."""


@dataclass(frozen=True, slots=True)
class ProfileCandidate:
    """A memory that an answer may rest on."""

    id: str
    summary: str
    session_id: str | None
    score: float
    """How likely it answers the query, 0 to 1."""
    happened_at: int
    findings: Sequence[Finding] = ()
    """What its score is made of, where that was asked for."""


@dataclass(frozen=True, slots=True)
class ProfileInstruction:
    """A standing instruction that holds and may concern a query."""

    id: str
    content: str
    happened_at: int


@dataclass(frozen=True, slots=True)
class ProfileRecall:
    """An answer, and the memories that it may rest on, best first."""

    answer: str
    """"" where no memory is sure enough to answer the query."""
    candidates: Sequence[ProfileCandidate]
    """Empty where probably nothing on the query's subject is known."""
    degraded: Sequence[str] = ()
    """Why it may not be all there is, as a recall says, and why no language model has written it where one was to."""
    cited: Sequence[str] = ()
    """The ids of the memories that the answer is made of, each once."""
    instructions: Sequence[ProfileInstruction] = ()
    """At most three, first those whose score says that they concern the query, best first, and then the newest."""

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return len(self.candidates)


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """What is known of somebody."""

    text: str
    """Markdown; "" where nothing is known."""
    degraded: Sequence[str] = ()
    """Why no language model has written it, where one was to."""


@dataclass(frozen=True, slots=True)
class Version:
    """One of the memories that stated the value of a key, in the order in which they were said."""

    key: str
    memory_id: str
    summary: str
    happened_at: int
    superseded_at: int | None
    """When what replaced it was said; None: it holds."""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """A message that a memory is, or that a model has learned it of."""

    id: str
    role: Role
    session_id: str | None
    said_at: int
    memory_id: str
    """The memory that it is."""


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """A memory, the versions of what it states, key by key and oldest first, and the messages that it comes from."""

    memory: Memory
    versions: Sequence[Version]
    sources: Sequence[SourceMessage]


def first_line(content: str) -> str:
    """Return the first line of a content, cut at a word where it is long."""
    line = next((stripped for part in content[: 10 * MAX_SUMMARY].splitlines() if (stripped := part.strip())), "")
    line = " ".join((line or content.strip()[:MAX_SUMMARY]).split())
    if len(line) <= MAX_SUMMARY:
        return line
    cut = line[: MAX_SUMMARY - 1]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > MAX_SUMMARY // 2 else cut).rstrip() + "\u2026"
