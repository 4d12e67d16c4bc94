"""Which agent of the service stands for a user of a framework."""

import hashlib
import json
import re

_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST = 64
_HASHED = "sha256::"
"""Begins the names that are hashes: no other name has an empty part."""


def agent_name(*parts: str) -> str:
    """Return the name of an agent that these parts have, and no others.

    They are joined with ``:`` where that is a name. Where it is none, such as with an e-mail address, or where it is
    longer than 64 characters, a hash of them is the name.

    Raises:
        ValueError: a part is empty, which would stand for everybody.
    """
    if not parts or not all(parts):
        raise ValueError("A user has a name: an empty one would stand for everybody.")
    name = ":".join(parts)
    if len(name) <= _LONGEST and all(_PLAIN.fullmatch(part) for part in parts):
        return name
    return _HASHED + _digest(*parts)[: _LONGEST - len(_HASHED)]


def session_name(*parts: str) -> str:
    """Return the name of a conversation: at most 64 bytes, and another one for other parts."""
    name = "/".join(parts)
    if len(name.encode(errors="replace")) <= _LONGEST and len(parts) == 1 and name.strip() and name.isprintable():
        return name
    return _digest(*parts)


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
