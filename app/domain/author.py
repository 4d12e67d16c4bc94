"""Who writes memories, and whom a memory names as its speaker."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.errors import FieldError, Forbidden
from app.domain.json_types import Json

WriteChannel: TypeAlias = Literal["http", "mcp", "import", "command"]
"""The way by which a memory came."""

Reach: TypeAlias = Literal["agent", "tenant", "admin"]
"""What a credential is good for: one agent, all agents, or all agents as an administrator."""

_SPEAKER = re.compile(r"\A\s*([^\s:,.!?][^:\n,.!?]{0,39}):\s")


_SYSTEM = "system"
_MAX_READ = 100
"""Characters of a speaker's name that may make it the system's."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes in one request, as its credential says and no field of the request does."""

    credential_id: str | None = None
    """None: an operator at the command line."""
    channel: WriteChannel = "command"
    issued_at: int | None = None
    """When the credential was issued, in ms since the epoch."""
    may_replace: bool = False
    """Whether storing the same content again may shorten a memory's life and replace or remove its metadata."""
    speakers: frozenset[str] | None = None
    """For whom the author may speak, in lower case; None: for anybody."""
    may_be_revoked: bool = False
    """Whether it was not asked for revocations, since the service was not ready."""
    agent_id: str | None = None
    """The only agent that the credential is good for; None: all of the tenant's."""

    @property
    def reach(self) -> Reach:
        """How far the credential reaches."""
        if self.agent_id is not None:
            return "agent"
        return "admin" if self.may_replace else "tenant"

    @property
    def may_speak_as_system(self) -> bool:
        """Whether what it writes may count as said by the system: an administrator, an import, or by its binding."""
        if self.speakers is not None:
            return _SYSTEM in self.speakers
        return self.may_replace or self.channel == "import"

    def may_speak_in(self, content: str, metadata: Mapping[str, Json]) -> bool:
        """Tell whether the author may speak for the speaker whom a memory names, if it names one."""
        speaker = speaker_of(content, metadata)
        if is_system(speaker):
            return self.may_speak_as_system
        return self.speakers is None or not speaker or speaker.strip().lower() in self.speakers

    def check_speaker(self, metadata: Mapping[str, Json]) -> None:
        """Refuse metadata by which a memory would pretend to be the system's.

        Raises:
            Forbidden: it names the system as the speaker, and the author may not speak as the system.
        """
        speaker = metadata.get("speaker")
        if isinstance(speaker, str) and is_system(speaker) and not self.may_speak_as_system:
            message = "names the system, which an administrator's credential or one bound to this speaker may name"
            raise Forbidden(f"metadata.speaker {message}.", errors=[FieldError("metadata.speaker", message)])


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who wrote a memory, by which way and when (ms since the epoch)."""

    credential_id: str | None
    channel: str
    written_at: int

    @classmethod
    def of(cls, credential_id: str | None, channel: str | None, written_at: int | None) -> "Provenance | None":
        """Make it of the columns that keep it; None where they were not kept yet."""
        return None if channel is None or written_at is None else cls(credential_id, channel, written_at)


def is_system(speaker: str) -> bool:
    """Tell whether a speaker is named as the system, however the name is written: "System", "[SYSTEM]"."""
    folded = unicodedata.normalize("NFKC", speaker[:_MAX_READ]).casefold()
    return "".join(filter(str.isalpha, folded)) == _SYSTEM


def speaker_of(content: str, metadata: Mapping[str, Json]) -> str:
    """Return who speaks in a memory: what metadata has as ``speaker``, else what stands before a colon at its start."""
    speaker = metadata.get("speaker")
    if isinstance(speaker, str):
        return speaker
    match = _SPEAKER.match(content)
    return "" if match is None else match[1]
