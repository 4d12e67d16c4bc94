"""Examples of the audit for the OpenAPI document."""

from typing import Any

from app.domain.audit import canonical_json, sha256_of
from app.interfaces.http.schemas.episodic_examples import EPISODE
from app.interfaces.http.schemas.examples import AGENT_ID, CREDENTIAL_ID, MEMORY_ID, MOMENT

RUN_ID = "01K2Z7A1B2C3D4E5F6G7H8J9KM"
CALL_ID = "01K2Z7B2C3D4E5F6G7H8J9KMNP"

_INPUT = {"customer": 4711}
_CALL: dict[str, Any] = {
    "call_id": CALL_ID,
    "tool": "send_invoice",
    "input": _INPUT,
    "outcome": "ok",
    "output": {"invoice": 17},
    "ms": 128.5,
    "tokens": 0,
}
_HASHED = {"input_hash": sha256_of(canonical_json(_INPUT))}
_RUN = {"run_id": RUN_ID, "agent_id": AGENT_ID, "agent_type": "billing"}

TOOL_CALLS: dict[str, Any] = {"calls": [_CALL]}
REPLAY: dict[str, Any] = {
    "steps": [
        {
            "kind": "started",
            "at": MOMENT,
            "run": {**_RUN, "status": "running", "input": "Send the invoice", "episode_ids": []},
        },
        {"kind": "tool_call", "at": MOMENT, "call": {**_CALL, **_HASHED, "number": 1}},
        {"kind": "episode", "at": MOMENT, "episode": {**EPISODE, "run_id": RUN_ID}},
        {"kind": "ended", "at": MOMENT, "run": {**_RUN, "status": "completed", "output": "Sent"}},
    ]
}
EVENTS: dict[str, Any] = {
    "events": [
        {
            "at": MOMENT,
            "event": "recall",
            "agent_id": AGENT_ID,
            "run_id": RUN_ID,
            "detail": {"entries": [MEMORY_ID], "through": "http", "ms": 3.2},
            "written_by": CREDENTIAL_ID,
        }
    ]
}
