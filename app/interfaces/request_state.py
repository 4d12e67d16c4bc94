"""What interfaces tell of a request to what wraps them, in the state of its ASGI scope."""

from collections.abc import MutableMapping
from typing import Any

from app.domain.request_note import RequestNote

VERIFIED = "verified"
"""Is there once the request's credential was verified."""

_NOTE = "note"


def note_of(scope: MutableMapping[str, Any]) -> RequestNote:
    """Return what is noted of a request, which whoever handles it adds to."""
    note: RequestNote = scope["state"].setdefault(_NOTE, RequestNote())
    return note
