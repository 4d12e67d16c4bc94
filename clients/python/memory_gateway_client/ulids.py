"""Ids that a client makes: ULIDs, each greater than the one before."""

import secrets
import threading
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHANCE_BITS = 80

_lock = threading.Lock()
_last = 0


def new_ulid() -> str:
    """Return a fresh ULID. Those of one process go up, also within a millisecond: what they name keeps its order."""
    global _last  # noqa: PLW0603 - of the process
    with _lock:
        _last = max(_last + 1, (time.time_ns() // 1_000_000) << _CHANCE_BITS | secrets.randbits(_CHANCE_BITS - 1))
        number = _last
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
