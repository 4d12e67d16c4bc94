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
    """A message of a request. The service that takes the request checks the bounds (``app.domain.limits``)."""

    role: Role
    content: str
    occurred_at: int | None = None
    """When the message was said, in milliseconds since the epoch."""
    tokens: int | None = None
    """The message's tokens, as the caller's model counts them; None: they are estimated."""
    moment_field: str = "occurred_at"
    """The field by which callers give the moment."""


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
        """The ``Memory.content_hash`` of the memory that the message becomes."""
        return identity_of(self.content, self.session_id, self.said_at)

    @property
    def metadata(self) -> Mapping[str, Json]:
        """The metadata of the message's memory: a user's message may name its speaker itself, as in "Ann: ..."."""
        return {} if self.role == "user" else {"speaker": self.role}

    def later(self) -> "Message":
        """Return the message as if it was said a millisecond later."""
        return replace(self, said_at=self.said_at + 1)

    def memory(self, scope: Scope, memory_id: str, created_at: int) -> Memory:
        """Return the memory that the message becomes."""
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
    """Return the id of a message: the first 128 bits, in hex, of SHA-256 over its session, role and content."""
    return digest(session_id, role, content)


def digest(*parts: str) -> str:
    """Return the first 128 bits, in hex, of SHA-256 over texts."""
    return hashlib.sha256(to_json(list(parts)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Item:
    """The outcome of one message of an ingestion; ``code`` is the error's code where the message failed."""

    id: str
    status: ItemStatus
    code: str | None = None
