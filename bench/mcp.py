"""What a call over MCP costs beside the same call over HTTP: one service, both kinds of request in turn."""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.domain.memory import Scope
from app.interfaces.mcp.http import AGENT_HEADER, PATH
from app.interfaces.tools.definition import Tool
from app.interfaces.tools.recall_store import RECALL_MEMORY, STORE_MEMORY
from bench.client import post_json
from bench.data import Requests, credential, notes, one_agent, questions
from bench.report import CPU, Figure
from bench.server import embedded

_ROUNDS = 5
_CALLS = 800
_WARM_UP = 200
_MEMORIES = 200
_SEED = 4
_MOST_MS = 3.0
_HANDSHAKE, _MODERN = "2025-11-25", "2026-07-28"
"""Versions of the protocol: the last with a handshake, and the first that tells everything in each request."""
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

_Make = Callable[[int], Sequence[bytes]]


async def mcp() -> list[Figure]:
    """Measure by how much CPU a call of each tool over MCP is above the same by HTTP, on the embedded default."""
    (scope,) = one_agent()
    over_http = Requests([scope], seed=_SEED)
    (first,) = over_http.recalls(1)
    asked, noted = questions(_SEED + 1), notes(_SEED + 1)

    def recalls(version: str) -> _Make:
        return lambda count: [
            tool_call(scope, RECALL_MEMORY, {"query": text}, version) for text in islice(asked, count)
        ]

    def stores(count: int) -> Sequence[bytes]:
        return [tool_call(scope, STORE_MEMORY, {"content": text}, _MODERN) for text in islice(noted, count)]

    pairs: list[tuple[str, _Make, _Make]] = [
        (f"recall, protocol {_MODERN}", recalls(_MODERN), over_http.recalls),
        (f"recall, protocol {_HANDSHAKE}", recalls(_HANDSHAKE), over_http.recalls),
        (f"store, protocol {_MODERN}", stores, over_http.stores),
    ]
    figures = []
    with TemporaryDirectory(prefix="bench-mcp-") as directory:
        async with embedded(Path(directory), "hashing", first) as server:
            await server.cost(over_http.stores(_MEMORIES))
            for name, by_mcp, by_http in pairs:
                for make in (by_mcp, by_http):
                    await server.cost(make(_WARM_UP))
                above = [await server.cost(by_mcp(_CALLS)) - await server.cost(by_http(_CALLS)) for _ in range(_ROUNDS)]
                figures.append(Figure(f"MCP above HTTP, {name}, hashing", CPU, above, limit=_MOST_MS))
    return figures


def tool_call(scope: Scope, tool: Tool, arguments: dict[str, Any], version: str = _MODERN) -> bytes:
    """Write a call of a tool as a request."""
    params = {"name": tool.name, "arguments": arguments, **({"_meta": _META} if version == _MODERN else {})}
    headers = {
        **credential(scope),
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool.name,
        AGENT_HEADER: scope.agent_id,
    }
    return post_json(PATH, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers)
