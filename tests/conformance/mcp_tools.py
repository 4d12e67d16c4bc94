"""An MCP server to try the inspector on: ``python -m tests.conformance.mcp_tools``, with ``http`` or ``stdio``.

``repeat`` answers, ``fail`` says that it failed, and ``lie`` answers other than its output schema says. Over HTTP it
prints its URL and takes the credential ``secret`` alone.
"""

import asyncio
import json
import os
import socket
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_SAID = {"type": "object", "properties": {"said": {"type": "string"}}, "required": ["said"]}
_ANYTHING = {"type": "object", "properties": {"text": {}}}
TOOLS = {
    "repeat": types.Tool(name="repeat", description="Repeat a text.", input_schema=_TEXT, output_schema=_SAID),
    "fail": types.Tool(name="fail", description="Fail.", input_schema=_ANYTHING, output_schema=_SAID),
    "lie": types.Tool(name="lie", description="Lie.", input_schema=_TEXT, output_schema=_SAID),
}


async def list_tools(_: ServerRequestContext[Any], __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """List all of them."""
    return types.ListToolsResult(tools=list(TOOLS.values()))


async def call_tool(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer as the tool's name says; ``repeat`` adds for which agent and by which version of the protocol."""
    if params.name == "fail":
        return types.CallToolResult(content=[types.TextContent(type="text", text="It failed.")], is_error=True)
    said = (params.arguments or {})["text"]
    agent = os.environ["AGENT"] if context.request is None else context.request.headers["X-Agent-Id"]
    answer = {"said": said, "to": agent, "by": context.protocol_version} if params.name == "repeat" else {"said": 5}
    text = types.TextContent(type="text", text=json.dumps(answer))
    return types.CallToolResult(content=[text], structured_content=answer, is_error=False)


def guarded(app: ASGIApp) -> ASGIApp:
    """Let nobody in without the credential."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        known = scope["type"] != "http" or (b"authorization", b"Bearer secret") in scope["headers"]
        await (app if known else Response(status_code=401))(scope, receive, send)

    return guard


def serve_http(server: Server[Any]) -> None:
    """Serve on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)  # noqa: T201 - for who started it
        app = guarded(server.streamable_http_app(json_response=True, stateless_http=True))
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


async def serve_stdio(server: Server[Any]) -> None:
    """Serve on standard input and output."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    tools = Server[Any]("tools", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if sys.argv[1:] == ["http"]:
        serve_http(tools)
    else:
        asyncio.run(serve_stdio(tools))
