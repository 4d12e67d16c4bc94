"""Examples of runs and episodes for the OpenAPI document."""

from typing import Any

from app.interfaces.http.schemas.examples import AGENT_ID, MOMENT

RUN_ID = "01K9Q2Z4M1V7Q8T3B5N6C7D8E9"
EPISODE_ID = "01K9Q2Z5A2V7Q8T3B5N6C7D8E9"
AGENT_TYPE = "billing"

_INPUT: dict[str, Any] = {"task": "send the invoice of March again"}
_OUTPUT: dict[str, Any] = {"sent": True}
_HAPPENED: dict[str, Any] = {
    "episode_id": EPISODE_ID,
    "type": "tool_call",
    "content": "send_invoice answered 200",
    "data": {"tool": "send_invoice", "milliseconds": 412},
    "occurred_at": MOMENT,
}

START_RUN: dict[str, Any] = {"agent_id": AGENT_ID, "agent_type": AGENT_TYPE, "input": _INPUT, "run_id": RUN_ID}
APPEND_EPISODES: dict[str, Any] = {"episodes": [_HAPPENED]}
APPENDED: dict[str, Any] = {"written": 1, "known": 0}
COMPLETE_RUN: dict[str, Any] = {"output": _OUTPUT}
FAIL_RUN: dict[str, Any] = {"error": "send_invoice answered 500 three times"}
EPISODE: dict[str, Any] = {
    "id": EPISODE_ID,
    "run_id": RUN_ID,
    "agent_id": AGENT_ID,
    "agent_type": AGENT_TYPE,
    **{name: value for name, value in _HAPPENED.items() if name != "episode_id"},
    "created_at": MOMENT,
}
EPISODES: dict[str, Any] = {"episodes": [EPISODE]}
_RUN: dict[str, Any] = {
    "run_id": RUN_ID,
    "agent_id": AGENT_ID,
    "agent_type": AGENT_TYPE,
    "status": "running",
    "started_at": MOMENT,
    "input": _INPUT,
}
STARTED_RUN: dict[str, Any] = {**_RUN, "episodes": [EPISODE]}
RUN: dict[str, Any] = {
    **_RUN,
    "status": "completed",
    "episode_ids": [EPISODE_ID],
    "ended_at": MOMENT,
    "output": _OUTPUT,
}
RUNS: dict[str, Any] = {"runs": [RUN]}
