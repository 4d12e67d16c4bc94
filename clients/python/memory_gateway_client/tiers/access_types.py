"""What the service answers about credentials."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Credential:
    """What is known of a credential; its token is kept nowhere.

    Attributes:
        agent_id: The only agent that it is good for; None: all of the tenant's.
        speakers: The speakers that it may speak for; None: every speaker.
        requests_per_minute: Its own limit; None: that of the settings.
        channel: By what it was minted; None: it was recorded when it was first used.
        minted_by: The credential that minted it; None: a command did, or it is not known.
        expires_at: None: it holds until it is revoked.
        last_used_at: Noted once an hour; None: not yet, as far as is known.
    """

    id: str
    scopes: tuple[str, ...]
    minted_at: datetime
    agent_id: str | None = None
    speakers: tuple[str, ...] | None = None
    requests_per_minute: int | None = None
    channel: str | None = None
    minted_by: str | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """A page of credentials, newest first; ``cursor`` asks for the next page, and None says that there is none."""

    credentials: tuple[Credential, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Minted:
    """A new credential, and its token, which is shown this once."""

    token: str
    credential: Credential


@dataclass(frozen=True, slots=True)
class Revoked:
    """A credential that holds no longer.

    Attributes:
        recorded: Whether one with this id was minted or used before; if not, the id may be mistyped.
    """

    id: str
    revoked_at: datetime
    recorded: bool
