"""Keys in the state of a request's ASGI scope, by which an interface tells the middleware around it of the request."""

from typing import Final

VERIFIED: Final = "verified"
"""The key that is set once the request's credential was verified."""
TRACE_ID: Final = "trace_id"
"""The key of the id of the request's trace, in 32 hexadecimal digits; without it the request belongs to none."""
NOTE: Final = "note"
"""The key of the ``RequestNote``, which the request's handlers add to."""
SESSION_COOKIE: Final = "__Host-memory-gateway"
"""The cookie of a session of the console. A request that has it counts as one whose credential is still to be verified.
"""
