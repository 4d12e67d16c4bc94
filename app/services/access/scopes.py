"""The scopes of a credential: what it is good for, besides whom (docs/security.md)."""

from collections.abc import Iterable, Mapping
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


def granted(names: Iterable[AccessScope]) -> frozenset[AccessScope]:
    """Return the scopes that these give: an administrator's gives every one."""
    given = frozenset(names)
    return EVERY_SCOPE if "admin" in given else given
