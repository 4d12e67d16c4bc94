"""The header in which the service tells the Worker in front of it what a call was (ADR 0062)."""

import json

from app.domain.request_note import RequestNote

HEADER = "X-Memory-Gateway-Call"
"""Only with ``REPORT_CALLS``. The Worker removes it (``deploy/edge/src/calls.ts``)."""


def call_report(note: RequestNote, method: str, route: str) -> str:
    """Return the header's value: a JSON object in ASCII, of what is noted and of the path as it is declared."""
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
