"""The MCP server, which lists and calls the tools over any transport."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Any, TypeAlias

import mcp_types as types
import structlog
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from app.domain.advice import advice
from app.domain.errors import MemoryGatewayError, NotFound, QuotaExceeded, Unavailable
from app.interfaces.text import json_text
from app.interfaces.tools.calls import Toolbox
from app.interfaces.tools.definition import INSTRUCTIONS
from app.interfaces.tools.manifests import manifest_of
from app.interfaces.tools.profile_tools import ANSWER
from app.interfaces.tools.sets import ALL_TOOLS
from app.observability.logs import log_failure

Context: TypeAlias = ServerRequestContext[Any, Any]
ToolboxOf: TypeAlias = Callable[[Context], Toolbox]
"""Returns the toolbox of a message's sender."""
ListTools: TypeAlias = Callable[[Context, types.PaginatedRequestParams | None], Awaitable[types.ListToolsResult]]
CallTool: TypeAlias = Callable[[Context, types.CallToolRequestParams], Awaitable[types.CallToolResult]]


def quiet_sdk() -> None:
    """Log only warnings of the SDK and of its HTTP client: below that level they log whole messages and headers.

    Every request has a log line of ours already.
    """
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))


def make_server(list_tools: ListTools, call_tool: CallTool) -> Server[Any]:
    """Make a server of two handlers. Both may raise ``MCPError``; any other exception is logged as a defect."""
    schemas = {tool.name: tool.input_schema for tool in ALL_TOOLS}
    server: Server[Any] = Server(
        "memory-gateway",
        version=version("memory-gateway"),
        title="Memory Gateway",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )
    server.middleware.append(_log_defects)
    return server


def tool_server(toolbox_of: ToolboxOf) -> Server[Any]:
    """Make the server that serves the tools through the gateway."""
    tools = {tool["name"]: types.Tool.model_validate(tool) for tool in manifest_of(ALL_TOOLS, "mcp")}

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            listed = await toolbox_of(context).listed()
        except MemoryGatewayError as error:  # no tools at all would look like a switched-off memory
            log_failure(error)
            raise MCPError(types.INTERNAL_ERROR, error_text(error), {"code": error.code}) from error
        return types.ListToolsResult(tools=[tools[tool.name] for tool in listed])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return succeeded(await toolbox_of(context).call(params.name, params.arguments or {}))
        except NotFound as error:
            raise MCPError(types.INVALID_PARAMS, error.detail) from error
        except MemoryGatewayError as error:
            return failed(error)

    return make_server(list_tools, call_tool)


def succeeded(answer: Mapping[str, Any]) -> types.CallToolResult:
    """Return an answer both as data and as text, for clients without structured output.

    The text of an answer that is nothing but one is that text, which a model reads better than JSON.
    """
    text = str(answer[ANSWER]) if set(answer) == {ANSWER} else json_text(dict(answer))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=dict(answer), is_error=False
    )


def failed(error: MemoryGatewayError) -> types.CallToolResult:
    """Return an error with its advice as text for the model, and for the client what a problem over HTTP tells."""
    log_failure(error)
    told: dict[str, Any] = {"code": error.code, "status": error.status, "advice": advice(error)}
    if isinstance(error, QuotaExceeded | Unavailable) and error.retry_after is not None:
        told["retry_after"] = error.retry_after
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=error_text(error))], is_error=True, _meta=told
    )


def error_text(error: MemoryGatewayError) -> str:
    """Return an error's title, detail and advice as text for a model."""
    return f"{error.title}: {error.detail.removesuffix('.')}. {advice(error)}"


async def _log_defects(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Log an unexpected exception with its traceback, and answer with an error that reveals nothing of it."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):  # a caller's parameters of another form: their values do not belong in the log
        raise
    except Exception as error:
        structlog.get_logger().exception("defect", method=ctx.method)
        defect = MemoryGatewayError("The service failed in a way it should not. Its log tells why.")
        raise MCPError(types.INTERNAL_ERROR, error_text(defect), {"code": defect.code}) from error
