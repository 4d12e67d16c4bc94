"""What interfaces tell of a request to what wraps them, in the state of its ASGI scope."""

VERIFIED = "verified"
"""Is there once the request's credential was verified."""
