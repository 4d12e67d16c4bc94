"""The places of the tiers' requests that take what is made: a route, the largest size, and the request's body."""

from collections.abc import Callable
from typing import Any, TypeAlias

RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FZ"
TierField: TypeAlias = tuple[str, int, Callable[[Any], dict[str, Any]]]
_KIB = 1024


def _run(value: object) -> dict[str, Any]:
    return {"agent_id": "bot", "agent_type": "t", "input": value}


def _workflow(value: object) -> dict[str, Any]:
    return {"agent_type": "t", "task_type": "t", "spec": value}


def _episode(**fields: object) -> dict[str, Any]:
    return {"episodes": [{"type": "note", "content": "x", **fields}]}


def _call(**fields: object) -> dict[str, Any]:
    return {"calls": [{"tool": "t", "input": 1, "outcome": "ok", "ms": 1, **fields}]}


def _fact(**fields: object) -> dict[str, Any]:
    return {"agent_id": "bot", "subject": "user", "predicate": "likes", "object": "x", **fields}


def _assembled(**fields: object) -> dict[str, Any]:
    return {"agent_id": "bot", "instance": "i", "agent_type": "t", **fields}


TIER_TEXTS: dict[str, TierField] = {
    "working value": ("PUT /working/bot/i/k", 120 * _KIB, lambda text: {"value": text}),
    "turn state": (f"PUT /runs/{RUN}/state", 120 * _KIB, lambda text: {"value": text}),
    "logged text": (f"POST /runs/{RUN}/log", 120 * _KIB, lambda text: {"entries": [{"a": text}]}),
    "message of a window": (
        "POST /working/bot/i/messages",
        30 * _KIB,
        lambda text: {"messages": [{"role": "user", "content": text}]},
    ),
    "input": ("POST /runs", 30 * _KIB, _run),
    "episode": (f"POST /runs/{RUN}/episodes", 30 * _KIB, lambda text: _episode(content=text)),
    "output": (f"POST /runs/{ABSENT}/complete", 30 * _KIB, lambda text: {"output": text}),
    "what went wrong": (f"POST /runs/{ABSENT}/fail", 4 * _KIB, lambda text: {"error": text}),
    "document": ("PUT /context/style", 90 * _KIB, lambda text: {"content": text}),
    "value of the configuration": ("PUT /configuration", 60 * _KIB, lambda text: {"values": {"a": text}}),
    "workflow's text": ("PUT /workflows/w", 90 * _KIB, lambda text: _workflow({"a": text})),
    "tool's input": (f"POST /runs/{RUN}/audit", 120 * _KIB, lambda text: _call(input=text)),
    "tool's output": (f"POST /runs/{RUN}/audit", 10 * _KIB, lambda text: _call(output=text)),
    "fact": ("POST /facts", _KIB, lambda text: _fact(object=text)),
    "fact's subject": ("POST /facts", 256, lambda text: _fact(subject=text)),
    "fact's query": ("POST /facts/recall", 32 * _KIB, lambda text: {"agent_id": "bot", "query": text}),
    "subject of facts to recall": (
        "POST /facts/recall",
        256,
        lambda text: {"agent_id": "bot", "query": "x", "subject": text, "predicate": text},
    ),
    "subject of facts to list": ("GET /facts", 256, lambda text: {"agent_id": "bot", "subject": text}),
    "query to prefetch": ("POST /context/assemble", 32 * _KIB, lambda text: _assembled(query=text, prefetch=True)),
    "cursor of runs": ("GET /runs", 4 * _KIB, lambda text: {"cursor": text}),
    "cursor of episodes": ("GET /episodes", 4 * _KIB, lambda text: {"cursor": text}),
    "cursor of the audit": ("GET /audit", 4 * _KIB, lambda text: {"cursor": text}),
    "cursor of facts": ("GET /facts", 4 * _KIB, lambda text: {"agent_id": "bot", "cursor": text}),
}
TIER_SHAPES: dict[str, TierField] = {
    "working values": ("PUT /working/bot/i/k", 250 * _KIB, lambda made: {"value": made}),
    "log entries": (f"POST /runs/{RUN}/log", 250 * _KIB, lambda made: {"entries": [made]}),
    "inputs": ("POST /runs", 250 * _KIB, _run),
    "data of an episode": (f"POST /runs/{RUN}/episodes", 250 * _KIB, lambda made: _episode(data=made)),
    "configuration": ("PUT /configuration", 250 * _KIB, lambda made: {"values": made}),
    "spec": ("PUT /workflows/w", 250 * _KIB, _workflow),
    "tool's inputs": (f"POST /runs/{RUN}/audit", 250 * _KIB, lambda made: _call(input=made)),
    "names of documents": ("POST /context/assemble", 250 * _KIB, lambda made: _assembled(context=made)),
    "a fact's fields": ("POST /facts", 250 * _KIB, lambda made: made),
}
