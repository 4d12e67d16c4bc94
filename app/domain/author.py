"""The author of a request's writes, and the speaker that a memory names."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from app.domain.errors import FieldError, Forbidden
from app.domain.json_types import Json

WriteChannel: TypeAlias = Literal["http", "mcp", "import", "command", "console"]
"""The way by which a memory reached the service."""

Reach: TypeAlias = Literal["agent", "tenant", "admin"]
"""How far a credential reaches: one agent, all agents, or all agents as an administrator."""

_SPEAKER = re.compile(r"\A\s*([^\s:,.!?][^:\n,.!?]{0,39}):\s")


_SYSTEM = "system"
_MAX_READ = 100
"""Characters of a speaker's name, from its start, that are compared with the system's name."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of one request's writes. The credential names the author; no field of the request can."""

    credential_id: str | None = None
    """The id of the credential; None: an operator writes at the command line."""
    channel: WriteChannel = "command"
    issued_at: int | None = None
    """When the credential was issued, in ms since the epoch."""
    may_replace: bool = False
    """Whether storing the same content again may shorten a memory's life and replace or remove its metadata."""
    speakers: frozenset[str] | None = None
    """The speakers for which the author may speak, in lower case; None: every speaker."""
    may_be_revoked: bool = False
    """Whether the credential was not checked for revocation, since the service was not ready."""
    agent_id: str | None = None
    """The only agent that the credential is good for; None: all agents of the tenant."""

    @property
    def reach(self) -> Reach:
        """How far the credential reaches."""
        if self.agent_id is not None:
            return "agent"
        return "admin" if self.may_replace else "tenant"

    @property
    def may_speak_as_system(self) -> bool:
        """Whether the author's texts may name the system as their speaker.

        Where the credential is bound to speakers, one of them has to be the system. Else administrators and imports
        may name it.
        """
        if self.speakers is not None:
            return _SYSTEM in self.speakers
        return self.may_replace or self.channel == "import"

    def may_speak_in(self, content: str, metadata: Mapping[str, Json]) -> bool:
        """Tell whether the author may speak for the speaker that a memory names, if it names any."""
        speaker = speaker_of(content, metadata)
        if is_system(speaker):
            return self.may_speak_as_system
        return self.speakers is None or not speaker or speaker.strip().lower() in self.speakers

    def check_speaker(self, metadata: Mapping[str, Json]) -> None:
        """Refuse metadata by which a memory would pretend to be the system's.

        Raises:
            Forbidden: the metadata names the system as the speaker, and the author may not speak as the system.
        """
        speaker = metadata.get("speaker")
        if isinstance(speaker, str) and is_system(speaker) and not self.may_speak_as_system:
            message = "names the system, which an administrator's credential or one bound to this speaker may name"
            raise Forbidden(f"metadata.speaker {message}.", errors=[FieldError("metadata.speaker", message)])


@dataclass(frozen=True, slots=True)
class Provenance:
    """The credential that wrote a memory, the way by which the memory came, and when (ms since the epoch)."""

    credential_id: str | None
    channel: str
    written_at: int

    @classmethod
    def of(cls, credential_id: str | None, channel: str | None, written_at: int | None) -> "Provenance | None":
        """Make a provenance of a row's columns; None where the row is older than these columns."""
        return None if channel is None or written_at is None else cls(credential_id, channel, written_at)


def is_system(speaker: str) -> bool:
    """Tell whether a speaker is named as the system, however the name is written: "System", "[SYSTEM]"."""
    folded = unicodedata.normalize("NFKC", speaker[:_MAX_READ]).casefold()
    return "".join(filter(str.isalpha, folded)) == _SYSTEM


def speaker_of(content: str, metadata: Mapping[str, Json]) -> str:
    """Return the speaker of a memory: the metadata's ``speaker``, else the name before a colon that begins the content.

    Without either it is empty.
    """
    speaker = metadata.get("speaker")
    if isinstance(speaker, str):
        return speaker
    match = _SPEAKER.match(content)
    return "" if match is None else match[1]
