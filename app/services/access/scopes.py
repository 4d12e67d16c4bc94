"""What a credential is good for: its scopes (docs/security.md), and what else it is minted with."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

AccessScope: TypeAlias = Literal["read", "write", "admin"]
"""What a call needs of its credential, and what a credential gives.

``read``: to be given what is remembered. ``write``: to add to it and change it as agents do. ``admin``: what agents may
not do, such as deleting, and data of every agent; whoever has it may read and write too.
"""
ACCESS_SCOPES: tuple[AccessScope, ...] = ("read", "write", "admin")
READ_WRITE: frozenset[AccessScope] = frozenset({"read", "write"})
"""What an agent's credential gives where nothing else is said."""
EVERY_SCOPE: frozenset[AccessScope] = frozenset(ACCESS_SCOPES)
"""What an administrator's credential gives."""
WORDS: Mapping[str, frozenset[AccessScope]] = {
    "memory": READ_WRITE,
    "memory:read": frozenset({"read"}),
    "memory:write": frozenset({"write"}),
}
"""What each word of a credential's claim ``scope`` gives."""
ADMIN_WORD = "admin"
"""The word that gives everything beside ``memory``, and nothing by itself."""
CLAIMS: Mapping[frozenset[AccessScope], str] = {
    **{given: word for word, given in WORDS.items()},
    EVERY_SCOPE: f"memory {ADMIN_WORD}",
}
"""The claim of a credential that gives these scopes, of all that there are."""
CLAIM_OF: Mapping[AccessScope, str] = {
    "read": CLAIMS[frozenset({"read"})],
    "write": CLAIMS[frozenset({"write"})],
    "admin": CLAIMS[EVERY_SCOPE],
}
"""The claim of a credential that gives a scope, and no more than it needs."""


DEFAULT_SECONDS = 90 * 24 * 3600
"""Seconds for which a credential holds, unless another time is given."""


@dataclass(frozen=True, slots=True)
class CredentialWanted:
    """A credential that is to be minted."""

    agent_id: str | None = None
    """The only agent that it is to be good for; None: all of the tenant's."""
    scopes: Collection[AccessScope] = READ_WRITE
    speakers: Sequence[str] | None = None
    """The speakers that it is to speak for; None: every speaker."""
    seconds: int | None = DEFAULT_SECONDS
    """How long it is to hold; None: until it is revoked."""
    requests_per_minute: int | None = None
    """Its own limit in each replica; None: that of the settings."""


def granted(names: Iterable[AccessScope]) -> frozenset[AccessScope]:
    """Return the scopes that these give: an administrator's gives every one."""
    given = frozenset(names)
    return EVERY_SCOPE if "admin" in given else given
