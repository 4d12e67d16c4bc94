"""The one rule of every lease: a lease holds until it expires, and never longer than a lease that begins now.

Times are the database's. Where its clock was ahead and went back, a lease taken before would hold for as long as the
clock was ahead: such a lease is void. The process that takes a void lease logs that (``lease_void``).
"""

from app.ports.database import NOW

SECONDS = 15
"""How long a lease holds that is not renewed because its holder has died, or cannot reach the database."""
LEASE_MS = SECONDS * 1000
SLACK_MS = 1000
"""A clock may be set back by this much without a lease being void: clocks are corrected by less all the time."""


def holds(expires_at: str, milliseconds: int | str = LEASE_MS) -> str:
    """Return the condition, in SQL, that a lease given for at most ``milliseconds`` holds; NULL is no lease."""
    return f"(coalesce({expires_at}, 0) > {NOW} AND NOT {void(expires_at, milliseconds)})"


def void(expires_at: str, milliseconds: int | str = LEASE_MS) -> str:
    """Return the condition, in SQL, that a lease ends further ahead than any lease that begins now."""
    return f"(coalesce({expires_at}, 0) > {NOW} + {milliseconds} + {SLACK_MS})"
