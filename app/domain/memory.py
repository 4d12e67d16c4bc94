"""Whose memories there are, and what a caller asks to store."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.json_types import Json, to_json
from app.domain.words import segments


@dataclass(frozen=True, slots=True)
class Tenant:
    """The owner of everything that one credential can reach."""

    tenant_id: str

    @property
    def argument(self) -> dict[str, Json]:
        """Return the values that name the tenant in a statement."""
        return {"tenant_id": self.tenant_id}


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memories: one agent inside one tenant."""

    tenant_id: str
    agent_id: str

    @property
    def argument(self) -> dict[str, Json]:
        """Return the values that name the tenant and the agent in a statement."""
        return {"tenant_id": self.tenant_id, "agent_id": self.agent_id}


@dataclass(frozen=True)
class NewMemory:
    """What a caller asks to store."""

    content: str
    metadata: Mapping[str, Json] = field(default_factory=dict)
    session_id: str | None = None
    occurred_at: int | None = None
    expires_at: int | None = None

    @cached_property
    def content_hash(self) -> str:
        """SHA-256, in hex, of what makes two memories of one agent the same memory."""
        identity = json.dumps([self.content, self.session_id, self.occurred_at])
        return hashlib.sha256(identity.encode()).hexdigest()

    @cached_property
    def segments(self) -> str:
        """The words of the content that the database does not find by itself."""
        return segments(self.content)

    @cached_property
    def metadata_json(self) -> str:
        """The metadata as it is stored."""
        return to_json(self.metadata)

    @cached_property
    def request_hash(self) -> str:
        """SHA-256, in hex, of everything that was asked: two requests with one hash ask the same."""
        asked = [self.content, self.metadata, self.session_id, self.occurred_at, self.expires_at]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
