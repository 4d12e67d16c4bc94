"""MCP over standard input and output, for clients on this machine."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import mcp_types as types
import structlog
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from app.auth import Principal
from app.errors import UpstreamUnavailable
from app.mcp_server.http import AGENT_HEADER, PATH
from app.mcp_server.server import Context, make_server, told, tool_server
from app.runtime import Runtime
from app.tools.calls import Toolbox

_T = TypeVar("_T")
_TIMEOUT = httpx2.Timeout(30.0, read=60.0)
_PROTOCOL = "2026-07-28"
"""The first that needs no handshake: a call is one request."""


async def serve_tools(runtime: Runtime, tenant_id: str, agent_id: str | None) -> None:
    """Serve the tools of an agent over a runtime of this process that has started, until standard input ends."""
    toolbox = Toolbox(runtime, Principal(tenant_id), agent_id)
    await _serve(tool_server(lambda _: toolbox))


async def serve_gateway(url: str, token: str, agent_id: str | None) -> None:
    """Pass on to the gateway that runs at ``url`` what comes by standard input, until that ends.

    The credential says whose tools they are. A gateway that does not answer is told to the model in each call.
    """
    headers = {"Authorization": f"Bearer {token}", **({} if agent_id is None else {AGENT_HEADER: agent_id})}
    async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT) as http:
        await _serve(_passing_on(f"{url.rstrip('/')}{PATH}", http))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _passing_on(url: str, http: httpx2.AsyncClient) -> Server[Any]:
    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = await _answer(url, http, Client.list_tools)
        if isinstance(listed, MCPError):
            raise listed
        return listed

    async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        called = await _answer(url, http, lambda client: client.call_tool(params.name, params.arguments))
        if not isinstance(called, MCPError):
            return called
        if called.code == types.INVALID_PARAMS:
            raise called
        return types.CallToolResult(content=[types.TextContent(type="text", text=called.message)], is_error=True)

    return make_server(list_tools, call_tool)


async def _answer(url: str, http: httpx2.AsyncClient, ask: Callable[[Client], Awaitable[_T]]) -> _T | MCPError:
    """Ask the gateway; an error it answers with, and that it does not answer, is returned."""
    try:
        async with Client(streamable_http_client(url, http_client=http), mode=_PROTOCOL) as client:
            try:
                answer: _T | MCPError = await ask(client)
            except MCPError as error:  # raised through the client it would come in a group of exceptions
                answer = error
    except* httpx2.HTTPError as errors:
        away = UpstreamUnavailable(f"The memory service at {url} does not answer.")
        structlog.get_logger().warning("gateway_away", url=url, reason=repr(errors.exceptions[0]))
        answer = MCPError(types.INTERNAL_ERROR, told(away), {"code": away.code})
    return answer
