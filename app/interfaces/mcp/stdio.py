"""MCP over standard input and output, for clients on this machine."""

import logging
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
from pydantic import ValidationError

from app.domain.errors import MemoryGatewayError, UpstreamRejected, UpstreamUnavailable
from app.interfaces.mcp.error_text import error_text, quiet_sdk
from app.interfaces.mcp.http import AGENT_HEADER, PATH
from app.interfaces.mcp.server import RUN_META, Context, make_server, run_of, tool_server
from app.interfaces.tools.calls import Toolbox
from app.runtime.entry import CallEntry
from app.runtime.shards import Shards
from app.services.access.credentials import Principal

_T = TypeVar("_T")
_TIMEOUT = httpx2.Timeout(30.0, read=60.0)
_PROTOCOL = "2026-07-28"
"""The first that needs no handshake: a call is one request."""


async def serve_tools(shards: Shards, tenant_id: str, agent_id: str | None) -> None:
    """Serve the tools of an agent over shards of this process that have started, until standard input ends."""
    await _serve(tools_of(shards, tenant_id, agent_id))


def tools_of(shards: Shards, tenant_id: str, agent_id: str | None) -> Server[Any]:
    """Make the server of an agent's tools; each message has a toolbox, and so a note, of its own."""
    return tool_server(lambda _: Toolbox(CallEntry(Principal(tenant_id), shards, shards.main, "mcp"), agent_id))


async def serve_gateway(url: str, token: str, agent_id: str | None) -> None:
    """Forward messages from standard input to the gateway at ``url``, until standard input ends.

    The credential names the tenant. If the gateway does not answer, each call returns an error that the model reads.
    """
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # it quotes messages; failures are logged here
    headers = {"Authorization": f"Bearer {token}", **({} if agent_id is None else {AGENT_HEADER: agent_id})}
    async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT) as http:
        await _serve(_passing_on(f"{url.rstrip('/')}{PATH}", http))


async def _serve(server: Server[Any]) -> None:
    quiet_sdk()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _passing_on(url: str, http: httpx2.AsyncClient) -> Server[Any]:
    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = await _answer(url, http, Client.list_tools)
        if isinstance(listed, MCPError):
            raise listed
        return listed

    async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        called = await _answer(url, http, lambda client: _call(client, params))
        if not isinstance(called, MCPError):
            return called
        if called.code == types.INVALID_PARAMS:
            raise called
        text = types.TextContent(type="text", text=called.message)
        return types.CallToolResult(content=[text], is_error=True, _meta=called.data)

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        read = await _answer(url, http, lambda client: _read(client, params.uri))
        if isinstance(read, MCPError):
            raise read
        return read

    return make_server(list_tools, call_tool, read_resource)


async def _call(client: Client, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Call a tool with one request: the client's own ``call_tool`` lists the tools too, to check the answer again."""
    run_id = run_of(params)
    meta: Any = None if run_id is None else {RUN_META: run_id}
    request = types.CallToolRequest(
        params=types.CallToolRequestParams(name=params.name, arguments=params.arguments, _meta=meta)
    )
    return await client.session.send_request(request, types.CallToolResult)


async def _read(client: Client, uri: str) -> types.ReadResourceResult:
    request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri))
    return await client.session.send_request(request, types.ReadResourceResult)


async def _answer(url: str, http: httpx2.AsyncClient, ask: Callable[[Client], Awaitable[_T]]) -> _T | MCPError:
    """Ask the gateway; return an error that it answers with, or one that says that it does not answer."""
    try:
        async with Client(streamable_http_client(url, http_client=http), mode=_PROTOCOL) as client:
            try:
                answer: _T | MCPError = await ask(client)
            except MCPError as error:  # raised through the client it would come in a group of exceptions
                answer = _with_advice(url, error)
            except ValidationError:
                answer = _unlike_ours(url)
    except* httpx2.HTTPError as errors:
        # Without the error's text, which may quote what was sent.
        structlog.get_logger().warning("gateway_away", url=url, reason=type(errors.exceptions[0]).__name__)
        answer = _mcp_error(UpstreamUnavailable(f"The memory service at {url} does not answer."))
    return answer


def _with_advice(url: str, error: MCPError) -> MCPError:
    """Return the gateway's error unchanged, and add advice to an error from elsewhere, such as a proxy."""
    if error.code == types.INVALID_PARAMS or (isinstance(error.data, dict) and "code" in error.data):
        return error
    if error.code == types.INTERNAL_ERROR:
        structlog.get_logger().warning("gateway_failed", url=url)
        return _mcp_error(UpstreamUnavailable(f"The memory service at {url} failed."))
    return _unlike_ours(url)


def _unlike_ours(url: str) -> MCPError:
    structlog.get_logger().warning("gateway_unlike_ours", url=url)
    return _mcp_error(UpstreamRejected(f"What answers at {url} is not a memory service of this version."))


def _mcp_error(error: MemoryGatewayError) -> MCPError:
    return MCPError(types.INTERNAL_ERROR, error_text(error), {"code": error.code})
