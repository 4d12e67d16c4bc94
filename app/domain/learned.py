"""The memories that a language model proposes of messages, each with the messages that it comes from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from app.domain.claim import MemoryType
from app.domain.json_types import Json, to_json

PassKind: TypeAlias = Literal["extract", "detail"]
"""A full reading of a part of a conversation, or a reading for names, prices, versions and attributes."""
ProposalState: TypeAlias = Literal["proposed", "verified", "learned", "known", "dropped", "failed"]
"""Known: a memory says the same. Dropped: its messages do not support it. Failed: the model did not answer."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A part of a conversation that a model reads at once."""

    number: int
    """The number of the pass, from 0, among the passes of the ingestion."""
    kind: PassKind
    message_ids: Sequence[str]
    """The ids of the messages, in the order in which they were said."""
    context: int = 0
    """How many of the first messages the pass before has read, or are memories since an earlier ingestion."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The origin, the topic and the questions of a memory that a language model made of messages."""

    message_ids: Sequence[str]
    """The messages that the memory comes from: it holds, and is remembered, only as long as each of them is."""
    topic: str | None = None
    """The topic of a fact or an instruction, in normal form: one memory of each topic holds at a time."""
    search_queries: Sequence[str] = ()
    """Questions that the memory answers, which are embedded before its content."""

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
        """Return the fields as a JSON object, without those that are empty."""
        fields: dict[str, Json] = {"message_ids": list(self.message_ids)}
        if self.topic is not None:
            fields["topic"] = self.topic
        if self.search_queries:
            fields["search_queries"] = list(self.search_queries)
        return fields

    @property
    def json(self) -> str:
        """Return the JSON text that is stored."""
        return to_json(self.fields)

    def embedded_text(self, content: str) -> str:
        """Return the text that is embedded of a memory with this content: its questions, then the content."""
        return "\n".join((*self.search_queries, content))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that a model proposes."""

    content: str
    message_ids: Sequence[str]
    """The messages that the proposal cites, in the order in which they were said; at least one."""
    happened_at: int | None = None
    """When the event that it tells of happened, if it says so; None: when the last of its messages was said."""
    type: MemoryType | None = None
    topic: str | None = None
    """The topic of a fact or an instruction, in normal form: one memory of each topic holds at a time."""
    search_queries: Sequence[str] = ()
    """Questions that the proposal answers, which are embedded before its content."""
