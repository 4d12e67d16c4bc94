"""What interfaces tell of a request to what wraps them: the keys in the state of its ASGI scope."""

from typing import Final

VERIFIED: Final = "verified"
"""Is there once the request's credential was verified."""
NOTE: Final = "note"
"""The ``RequestNote``, which whoever handles the request adds to."""
