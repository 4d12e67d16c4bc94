"""Messages of a conversation on their way to becoming memories."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from app.domain.json_types import Json, to_json
from app.domain.memory import Memory, Scope, identity_of

Role: TypeAlias = Literal["system", "user", "assistant"]
ItemStatus: TypeAlias = Literal["stored", "known", "waiting", "failed"]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that a caller brings. Whoever takes it checks its bounds (``app.domain.limits``)."""

    role: Role
    content: str
    timestamp: int | None = None
    """When it was said, in milliseconds since the epoch."""
    tokens: int | None = None
    """What it costs, as its caller's model counts; None: that is estimated."""


@dataclass(frozen=True)
class Message:
    """A message of a session, said at a moment."""

    id: str
    session_id: str
    role: Role
    content: str
    said_at: int

    @cached_property
    def content_hash(self) -> str:
        """What makes the memory that it becomes the same as another (``Memory.content_hash``)."""
        return identity_of(self.content, self.session_id, self.said_at)

    @property
    def metadata(self) -> Mapping[str, Json]:
        """The metadata of its memory: what a user says may name its speaker itself, as in "Ann: ..."."""
        return {} if self.role == "user" else {"speaker": self.role}

    def later(self) -> "Message":
        """Return it as said a millisecond later."""
        return replace(self, said_at=self.said_at + 1)

    def memory(self, scope: Scope, memory_id: str, created_at: int) -> Memory:
        """Return the memory that it becomes."""
        return Memory(
            id=memory_id,
            scope=scope,
            content=self.content,
            metadata=self.metadata,
            session_id=self.session_id,
            occurred_at=self.said_at,
            created_at=created_at,
            message_id=self.id,
        )


def message_id(session_id: str, role: Role, content: str) -> str:
    """Return the first 128 bits, in hex, of SHA-256 over what makes two messages the same: times are no part of it."""
    return digest(session_id, role, content)


def digest(*parts: str) -> str:
    """Return the first 128 bits, in hex, of SHA-256 over texts."""
    return hashlib.sha256(to_json(list(parts)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Item:
    """What became of one message of an ingestion; ``code`` says why where it failed."""

    id: str
    status: ItemStatus
    code: str | None = None
