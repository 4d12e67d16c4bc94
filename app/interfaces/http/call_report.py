"""The header in which the service reports a call to the Worker in front of it (ADR 0062)."""

import json

from app.domain.request_note import RequestNote

HEADER = "X-Memory-Gateway-Call"
"""The header's name; answers have the header only with ``REPORT_CALLS``, and the Worker removes it
(``deploy/edge/src/calls.ts``)."""


def call_report(note: RequestNote, method: str, route: str) -> str:
    """Return the header's value: a JSON object in ASCII, of the request's note, its method and its declared path."""
    report = {
        "tenant": note.tenant_id,
        "method": method,
        "route": route,
        "tool": note.tool,
        "outcome": note.outcome,
        "embedding_tokens": note.embedding_tokens,
        "embedded_characters": note.embedded_characters,
        "model_tokens": note.model_tokens,
    }
    return json.dumps(report, separators=(",", ":"))
