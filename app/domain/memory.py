"""Memories, their owners, and the memory that a caller asks to store."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from app.domain.author import Provenance
from app.domain.claim import MemoryType
from app.domain.json_types import Json, to_json
from app.domain.learned import Learned
from app.domain.limits import CONTENT, METADATA, RUN_ID, SESSION_ID, Bound, check
from app.domain.words import segments

STORE_KEY = "store.key"
"""The metadata key of rows that a program keeps for itself, as LangGraph's store does (docs/agents.md)."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """The owner of everything that one credential can reach."""

    tenant_id: str

    @property
    def argument(self) -> dict[str, Json]:
        """Return the values that name the tenant in a statement."""
        return {"tenant_id": self.tenant_id}


class Scope(NamedTuple):
    """The owner of memories: one agent inside one tenant. Caches are asked by it many times in a request."""

    tenant_id: str
    agent_id: str

    @property
    def argument(self) -> dict[str, Json]:
        """Return the values that name the tenant and the agent in a statement."""
        return {"tenant_id": self.tenant_id, "agent_id": self.agent_id}


def owner_of(tenant_id: str, agent_id: str | None) -> Scope | Tenant:
    """Return the owner of rows: the agent or, where ``agent_id`` is None, the tenant."""
    return Tenant(tenant_id) if agent_id is None else Scope(tenant_id, agent_id)


def identity_of(content: str, session_id: str | None, occurred_at: int | None) -> str:
    """Return the SHA-256, in hex, of the fields by which two memories of one agent are the same memory."""
    return hashlib.sha256(json.dumps([content, session_id, occurred_at]).encode()).hexdigest()


@dataclass(frozen=True)
class MemoryContent:
    """The content of a memory, and its author's fields: every form of a memory has them.

    Each field is a column of its name, which a store writes and a recall, a listing and an export read. A field that is
    added here behind the others, by keyword alone, is stored and read as it was given.
    """

    content: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    session_id: str | None = None
    occurred_at: int | None = None


CONTENT_FIELDS = tuple(field_.name for field_ in fields(MemoryContent))
MORE_FIELDS = tuple(field_.name for field_ in fields(MemoryContent) if field_.kw_only)
"""The content fields that are only stored and read: no rule uses them."""


class Storable(MemoryContent):
    """The values that a stored memory derives from its fields, and the bounds of these fields."""

    expires_at: int | None

    def check_bounds(self, *others: tuple[str, Bound, Any]) -> None:
        """Check the fields, and others that are given with their name and bound.

        Raises:
            ContentTooLarge: the content has too many bytes.
            InvalidRequest: another field is outside its bound; every such field is named.
        """
        check(
            *others,
            ("content", CONTENT, self.content),
            ("metadata", METADATA, self.metadata),
            ("session_id", SESSION_ID, self.session_id),
        )

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, in hex, of the fields by which two memories of one agent are the same memory."""
        return self.identity

    @cached_property
    def identity(self) -> str:
        """SHA-256, in hex, of content, session and moment."""
        return identity_of(self.content, self.session_id, self.occurred_at)

    @cached_property
    def segments(self) -> str:
        """The words of the content that the database does not find by itself."""
        return segments(self.content)

    @cached_property
    def metadata_json(self) -> str:
        """The metadata as it is stored."""
        return to_json(self.metadata)

    @property
    def content_bytes(self) -> int:
        """The size of the content in UTF-8, as quotas count it."""
        return len(self.content.encode())

    @property
    def metadata_bytes(self) -> int:
        """The size of the metadata in UTF-8, as quotas count it."""
        return len(self.metadata_json.encode())


class Supersedable(Storable):
    """A memory that may be superseded: it then makes room for another memory of the same content (``schema.sql``)."""

    id: str | None
    superseded_at: int | None
    learned: Learned | None

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, in hex, of the fields by which two memories are the same.

        A superseded memory without a moment has a hash that no other memory has, so that its content can be stored
        again.
        """
        if self.superseded_at is None or self.occurred_at is not None:
            return self.identity
        return superseded_hash(self.identity, self.id or "")

    @property
    def embedded_text(self) -> str:
        """The text that is embedded: the questions of a memory that a model has learned, and the content."""
        return self.content if self.learned is None else self.learned.embedded_text(self.content)


def superseded_hash(identity: str, id_: str) -> str:
    """Return the ``content_hash`` of a superseded memory of this id."""
    return identity[:12] + id_.encode().hex()


@dataclass(frozen=True)
class NewMemory(Storable):
    """A memory that a caller asks to store.

    Making one raises ``ContentTooLarge`` or ``InvalidRequest`` where a field is outside its bounds.
    """

    expires_at: int | None = None
    run_id: str | None = None
    """The run that stores the memory; None: the caller names no run."""

    def __post_init__(self) -> None:
        """Check the bounds of all fields."""
        self.check_bounds(("run_id", RUN_ID, self.run_id))

    @cached_property
    def request_hash(self) -> str:
        """SHA-256, in hex, of all fields: two requests with one hash ask for the same store."""
        request: list[Json] = [self.content, self.metadata, self.session_id, self.occurred_at, self.expires_at]
        request += [] if self.run_id is None else [self.run_id]
        request += [[name, value] for name in MORE_FIELDS if (value := getattr(self, name)) is not None]
        return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()

    def of(self, scope: Scope, memory_id: str, created_at: int) -> "Memory":
        """Return the memory that the store makes, where the agent has no memory of this content yet."""
        given = {field_.name: getattr(self, field_.name) for field_ in fields(self)}
        return Memory(id=memory_id, scope=scope, created_at=created_at, **given)


@dataclass(frozen=True, kw_only=True)
class Memory(Supersedable):
    """One memory of one agent."""

    id: str
    scope: Scope
    created_at: int
    expires_at: int | None = None
    written_by: str | None = None
    """The id of the credential that wrote the memory; None: an operator wrote it, or it is older than such ids."""
    written_through: str | None = None
    written_at: int | None = None
    later_keys: Mapping[str, str] | None = None
    """The metadata keys that a later store added, each with the id of the credential that added it."""
    superseded_at: int | None = None
    """When the memory that replaced this one was said; None: this one holds, or has no claim that could be replaced."""
    type: MemoryType | None = None
    """The memory's kind; None: its statements were not read yet."""
    forgotten_at: int | None = None
    """The moment since which no recall finds the memory; None: it is remembered."""
    message_id: str | None = None
    """The id of the message that the memory is; None: it is no message."""
    learned: Learned | None = None
    """The origin of a memory that a language model made of messages; None: it is in its caller's words."""

    run_id: str | None = None
    """The run under which the memory was first written; None: the caller named no run."""

    @property
    def agent_id(self) -> str:
        """The agent that has the memory."""
        return self.scope.agent_id

    @property
    def source(self) -> Provenance | None:
        """The memory's provenance; None where the memory is older than the columns that keep it."""
        return Provenance.of(self.written_by, self.written_through, self.written_at)
