"""What the prober asks: every route that reads, as the service's own OpenAPI document names them, pages, and MCP.

A route that is added later and that reads by GET is asked without a word here. One that reads by another method has a
body in ``_BODIES``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.domain.canaries import CANARY_AGENT, Canary
from app.domain.json_types import Json
from app.interfaces.console.page import ROOT as CONSOLE
from app.interfaces.console.pages import PAGES

QUESTION: Final = "Canary of this tenant: who may be shown it?"
"""What recalls are asked. It has the words of every canary, and no token: an answer may repeat it."""
NAME: Final = "canary"
"""The name of what a canary's scope has beside memories: an instance, a key, a session, a type."""
_UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
_PARAMETER = re.compile(r"\{(\w+)\}")
_IDS = frozenset({"memory_id", "run_id", "operation_id", "item_id", "archive_id", "blob_id", "credential_id"})
_AGENTS = frozenset({"agent_id", "profile", "profile_name"})
_NAMES: Mapping[str, str] = {"version": "1", "namespace_name": "default"}
_RECALLED: dict[str, Json] = {"query": QUESTION}
_BODIES: Mapping[str, Callable[[str, Canary], dict[str, Json]]] = {
    "POST /recall": lambda agent, _: {"agent_id": agent, "query": QUESTION, "top_k": 50, "explain": True},
    "POST /recall/explain": lambda agent, canary: {"agent_id": agent, "query": QUESTION, "memory_id": canary.id},
    "POST /facts/recall": lambda agent, _: {"agent_id": agent, "query": QUESTION, "top_k": 50},
    "POST /profiles/{profile}/recall": lambda _, __: {"query": QUESTION},
    "POST /context/assemble": lambda agent, _: {"agent_id": agent, "instance": NAME, "query": QUESTION},
    "POST /workflows/select": lambda _, __: {"agent_type": NAME, "task_type": NAME},
    "POST /consolidations/dry-run": lambda agent, _: {"agent_id": agent},
    "POST /consolidations/undo": lambda _, canary: {"consolidation_id": canary.id, "dry_run": True},
    "POST /deletions": lambda agent, _: {"agent_id": agent, "dry_run": True},
    "POST /undo": lambda agent, _: {"agent_id": agent, "session_id": NAME, "dry_run": True},
    "POST /client/v4/accounts/{account_id}/agent-memory/namespaces/{namespace_name}/profiles/{profile_name}/recall": (
        lambda _, __: dict(_RECALLED)
    ),
}
"""The routes that read by another method than GET, each with a body that changes nothing."""
_PAGES = (
    *("/docs", "/openapi.json", "/llms.txt", "/.well-known/oauth-protected-resource", "/nothing-is-here"),
    *(CONSOLE, f"{CONSOLE}/nothing-is-here"),
)
"""Paths that the document does not name, and one that there is not, for the text of its problem."""
_MCP: Sequence[tuple[str, str, dict[str, Any]]] = (
    ("tools/list", "tools/list", {}),
    ("recall_memory", "tools/call", {"name": "recall_memory", "arguments": {"query": QUESTION, "top_k": 20}}),
    ("recall", "tools/call", {"name": "recall", "arguments": {"query": QUESTION}}),
    ("list", "tools/call", {"name": "list", "arguments": {"about": ""}}),
    ("resources/list", "resources/list", {}),
    ("resources/templates/list", "resources/templates/list", {}),
    ("memory://context/{instance}", "resources/read", {"uri": f"memory://context/{NAME}"}),
    ("prompts/list", "prompts/list", {}),
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A request that changes nothing; ``route`` is its name in reports: a route, a tool, or a resource."""

    route: str
    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


def probes(document: Mapping[str, Any], agent_id: str | None, canary: Canary) -> Iterator[Probe]:
    """Yield what is asked for an agent, or with None for a whole tenant, to be shown a canary of another scope."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from _of_route(f"{method.upper()} {path}", path, operation, agent_id, canary)
    yield from (Probe(f"GET {path}", "GET", path) for path in _PAGES)
    yield Probe("GET /memories", "GET", "/memories", {"cursor": canary.id})
    yield from _of_console(agent_id, canary)
    if agent_id is not None:
        yield from mcp_probes()


def mcp_probes() -> Iterator[Probe]:
    """Yield the messages of MCP that read."""
    for route, method, params in _MCP:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        yield Probe(route, "POST", "/mcp", body=message)


def _of_console(agent_id: str | None, canary: Canary) -> Iterator[Probe]:
    """Yield every page that is shown, with what its forms ask for."""
    asked = {"q": QUESTION, "query": QUESTION, "memory": canary.id, "instance": NAME, "agent_type": NAME}
    params = {**asked, "task_type": NAME, **({} if agent_id is None else {"agent": agent_id})}
    for route in (route for page in PAGES for route in page.routes if route.method == "GET"):
        path = _PARAMETER.sub(lambda match: _value(match[1], canary.id, agent_id), route.path)
        yield Probe(f"GET {CONSOLE}{route.path}", "GET", f"{CONSOLE}{path}", params)


def _of_route(
    route: str, path: str, operation: Mapping[str, Any], agent_id: str | None, canary: Canary
) -> Iterator[Probe]:
    method = route.partition(" ")[0]
    body = None
    if method != "GET":
        if route not in _BODIES:
            return
        body = _BODIES[route](agent_id or CANARY_AGENT, canary)
    named = _PARAMETER.findall(path)
    for ids in (canary.id, _UNKNOWN) if _IDS.intersection(named) else (canary.id,):
        values = {name: _value(name, ids, agent_id) for name in named}
        params = dict(_query(operation, agent_id))
        yield Probe(route, method, _PARAMETER.sub(lambda match, of=values: of[match[1]], path), params, body)  # type: ignore[misc]


def _value(name: str, id_: str, agent_id: str | None) -> str:
    if name in _IDS:
        return id_
    if name in _AGENTS:
        return agent_id or CANARY_AGENT
    return _NAMES.get(name, NAME)


def _query(operation: Mapping[str, Any], agent_id: str | None) -> Iterator[tuple[str, str]]:
    """Yield what a query needs and what makes its answer longest."""
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] != "query":
            continue
        if name == "agent_id" and agent_id is not None:
            yield name, agent_id
        elif name == "limit" and "maximum" in parameter["schema"]:
            yield name, str(parameter["schema"]["maximum"])
        elif name in {"vectors", "history", "details"}:
            yield name, "true"
        elif parameter.get("required") and name != "agent_id":
            yield name, NAME
