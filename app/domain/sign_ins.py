"""The ids that the console gives to its sessions and to its sign-in links; those that have ended are kept for a day."""

from hashlib import sha256
from typing import Final

from ulid import ULID

from app.domain.moments import DAY_MS, moment

PREFIX: Final = "console:"
"""Begins each such id, and the id of no credential."""
KEPT_MS: Final = DAY_MS
"""How long it is kept that an id has ended: longer than any session or link holds."""
MAX_ENDED: Final = 2_000
"""Sessions and links of a tenant that end within a day."""
MAX_ENDED_OF_CREDENTIAL: Final = 200
"""Those of one credential: an agent's cannot keep an administrator from signing out."""
_MARK_DIGITS = 12


def new_id(credential_id: str | None, now: int) -> str:
    """Return an id for a session or a link of a credential; it begins as all of this credential do (``now`` in ms)."""
    mark = sha256((credential_id or "").encode()).hexdigest()[:_MARK_DIGITS]
    return f"{PREFIX}{mark}:{ULID.from_datetime(moment(now))}"


def of_credential(id_: str) -> str:
    """Return how the ids of the same credential begin."""
    return id_[: id_.rfind(":") + 1]
