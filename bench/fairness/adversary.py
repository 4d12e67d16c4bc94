"""Requests that are made to cost much: of any size on every public route, and the worst ones known."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Any
from urllib.parse import quote

from app.domain.limits import CONTENT_BYTES, MAX_FILTER_KEYS, MAX_TOP_K, METADATA_BYTES
from app.domain.memory import NewMemory, Scope
from app.interfaces.tools.recall_store import RECALL_MEMORY
from bench.data import credential, notes
from bench.fairness.wire import request
from bench.hostile import SHAPES, TEXTS, import_line
from bench.mcp import tool_call

_NO_ID = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
_LEAST = 16
_PARAMETER, _BODY = 4 * 1024, 250 * 1024
_Made = tuple[str, str, Any]


def _routes(random: Random, text: str, made: object, agent_id: str) -> list[Callable[[], _Made]]:
    """Return what makes a request of a text and a shape, for each public route."""
    where = {"metadata": made}

    def recall(**fields: object) -> dict[str, Any]:
        return {"agent_id": agent_id, "query": text or "x", **fields}

    parameter = quote(text.encode("utf-8", "ignore")[:_PARAMETER])
    return [
        lambda: ("POST", "/store", {"agent_id": agent_id, "content": text}),
        lambda: ("POST", "/store", {"agent_id": agent_id, "content": f"a {random.random()}", "metadata": made}),
        lambda: ("POST", "/recall", recall(collapse=True, explain=True, top_k=MAX_TOP_K)),
        lambda: ("POST", "/recall", recall(filter=where)),
        lambda: ("POST", "/recall/explain", recall(memory_id=_NO_ID)),
        lambda: ("GET", f"/memories?agent_id={agent_id}&cursor={parameter}", None),
        lambda: ("GET", f"/memories?agent_id={agent_id}&metadata={quote(json.dumps(made)[:_PARAMETER])}", None),
        lambda: ("GET", f"/memories/{parameter}", None),
        lambda: ("DELETE", f"/memories/{_NO_ID}?agent_id={agent_id}", None),
        lambda: ("GET", f"/usage?agent_id={parameter}", None),
        lambda: ("GET", f"/agents/{parameter}", None),
        lambda: ("PUT", f"/agents/{agent_id}x", made),
        lambda: ("DELETE", f"/agents/{parameter}", None),
        lambda: ("GET", f"/operations/{parameter}", None),
        lambda: ("GET", f"/healthz?{parameter}", None),
        lambda: ("GET", "/readyz", None),
        lambda: ("GET", "/metrics", None),
        lambda: ("GET", f"/tools?format={parameter}", None),
        lambda: ("GET", f"/export?agent_id={parameter}", None),
        lambda: ("POST", "/import", import_line(agent_id, text)),
        lambda: ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": text, "params": made}),
        lambda: ("POST", "/mcp", made),
    ]


def hostile(scope: Scope, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield requests without end, each with the name of its route: each route in turn, sizes even on a log scale."""
    random = Random(seed)
    texts, shapes = list(TEXTS.values()), list(SHAPES.values())
    headers = credential(scope, admin=True)
    for number in count():
        size = int(_LEAST * (CONTENT_BYTES / _LEAST) ** random.random())
        text = random.choice(texts)(size)
        made = random.choice(shapes)(int(_LEAST * (min(_BODY, 4 * METADATA_BYTES) / _LEAST) ** random.random()))
        routes = _routes(random, text, made, scope.agent_id)
        method, path, body = routes[number % len(routes)]()
        kind = "application/x-ndjson" if path == "/import" else "application/json"
        content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": kind}
        yield f"{method} {path.split('?')[0].split('/')[1]}", request(method, path, content, headers | accept)


def _filter() -> dict[str, dict[str, int]]:
    return {"metadata": {f"key{number}": number for number in range(MAX_FILTER_KEYS)}}


def with_metadata(_: int, note: str) -> NewMemory:
    """Return a memory whose metadata passes the filter of the worst requests, after all else was compared."""
    return NewMemory(note, {f"other{number}": number for number in range(60)} | _filter()["metadata"])


def worst(scope: Scope, memory_id: str, seed: int) -> Iterator[bytes]:
    """Yield the worst requests known, without end: one tenant's, of valid fields."""
    texts = notes(seed)
    headers = credential(scope)

    def post(path: str, **fields: object) -> bytes:
        content = json.dumps({"agent_id": scope.agent_id, **fields}).encode()
        return request("POST", path, content, headers | {"Content-Type": "application/json"})

    def long() -> str:
        return " ".join(next(texts) for _ in range(400))[: CONTENT_BYTES - 1]

    while True:
        phrases = " ".join(f'"{" ".join(next(texts).split()[:16])}"' for _ in range(20))
        yield post("/store", content=long())
        yield post("/recall", query=next(texts), top_k=MAX_TOP_K, filter=_filter(), collapse=True, explain=True)
        yield post("/recall", query=phrases, top_k=MAX_TOP_K, collapse=True, explain=True)
        yield post("/recall", query=long(), top_k=MAX_TOP_K, filter=_filter(), collapse=True)
        yield post("/recall/explain", query=phrases, memory_id=memory_id, filter=_filter())
        yield tool_call(scope, RECALL_MEMORY, {"query": f"\u6f22 {next(texts)}", "top_k": MAX_TOP_K})
