"""What a language model makes of messages: memories that it proposes, each with the messages that it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.memory import MemoryType

PassKind: TypeAlias = Literal["extract", "detail"]
"""A full reading of a part of a conversation, or one for names, prices, versions and attributes."""
ProposalState: TypeAlias = Literal["proposed", "verified", "learned", "known", "dropped", "failed"]
"""Known: a memory says the same. Dropped: its messages do not support it. Failed: the model did not answer."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A part of a conversation that a model reads at once."""

    number: int
    """From 0, among the passes of the ingestion."""
    kind: PassKind
    message_ids: Sequence[str]
    """In the order in which they were said."""
    context: int = 0
    """How many of the first ones were read by the pass before it, or are memories since an earlier ingestion."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a memory that a language model made of messages."""

    message_ids: Sequence[str]
    """The messages that it comes from: it holds, and is remembered, only as long as each of them is."""
    topic: str | None = None
    """What a fact or an instruction is about, in normal form: one of each topic holds at a time."""
    search_queries: Sequence[str] = ()
    """Questions that it answers, which are embedded before its content."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that a model proposes."""

    content: str
    message_ids: Sequence[str]
    """The messages that it cites, in the order in which they were said; at least one."""
    happened_at: int | None = None
    """When what it says happened, where it says so; None: when the last of its messages was said."""
    type: MemoryType | None = None
    topic: str | None = None
    """What a fact or an instruction is about, in normal form: one of each topic holds at a time."""
    search_queries: Sequence[str] = ()
    """Questions that it answers, which are embedded before its content."""
