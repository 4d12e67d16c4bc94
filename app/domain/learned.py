"""What a language model makes of messages: memories that it proposes, each with the messages that it comes from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from app.domain.claim import MemoryType
from app.domain.json_types import Json, to_json

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

    @classmethod
    def from_fields(cls, value: Mapping[str, Any]) -> "Learned":
        """Read what ``fields`` wrote."""
        return cls(tuple(value["message_ids"]), value.get("topic"), tuple(value.get("search_queries", ())))

    @classmethod
    def from_json(cls, text: str) -> "Learned":
        """Read what ``json`` wrote."""
        return cls.from_fields(json.loads(text))

    @property
    def fields(self) -> dict[str, Json]:
        """Return it as a JSON object, without what it has not."""
        fields: dict[str, Json] = {"message_ids": list(self.message_ids)}
        if self.topic is not None:
            fields["topic"] = self.topic
        if self.search_queries:
            fields["search_queries"] = list(self.search_queries)
        return fields

    @property
    def json(self) -> str:
        """Return it as it is stored."""
        return to_json(self.fields)

    def embedded_text(self, content: str) -> str:
        """Return what is embedded of a memory with this content: the questions that it answers stand before it."""
        return "\n".join((*self.search_queries, content))


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
