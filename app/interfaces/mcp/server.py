"""The MCP server, which lists and calls the tools over any transport."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
import structlog
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from app.domain.advice import advice
from app.domain.errors import FieldError, InvalidRequest, MemoryGatewayError, NotFound, QuotaExceeded, Unavailable
from app.domain.request_note import RequestNote
from app.interfaces.mcp.error_text import error_text, trace
from app.interfaces.mcp.resources import CONTEXT, MARKDOWN, context_text, instance_of
from app.interfaces.request_state import NOTE
from app.interfaces.text import json_text
from app.interfaces.tools.calls import Toolbox
from app.interfaces.tools.definition import INSTRUCTIONS
from app.interfaces.tools.manifests import manifest_of
from app.interfaces.tools.profile_tools import ANSWER
from app.interfaces.tools.sets import ALL_TOOLS
from app.interfaces.version import installed_version
from app.observability.logs import log_failure

RUN_META = "memory-gateway/run_id"
"""Where a call's ``_meta`` names the run that it is made under."""
SENSITIVE_META = "memory-gateway/sensitive_content"
Context: TypeAlias = ServerRequestContext[Any, Any]
ToolboxOf: TypeAlias = Callable[[Context], Toolbox]
"""Returns the toolbox of a message's sender."""
ListTools: TypeAlias = Callable[[Context, types.PaginatedRequestParams | None], Awaitable[types.ListToolsResult]]
CallTool: TypeAlias = Callable[[Context, types.CallToolRequestParams], Awaitable[types.CallToolResult]]
ReadResource: TypeAlias = Callable[[Context, types.ReadResourceRequestParams], Awaitable[types.ReadResourceResult]]


def make_server(list_tools: ListTools, call_tool: CallTool, read_resource: ReadResource) -> Server[Any]:
    """Make a server of its handlers. Each may raise ``MCPError``; any other exception is logged as a defect."""
    schemas = {tool.name: tool.input_schema for tool in ALL_TOOLS}
    server: Server[Any] = Server(
        "memory-gateway",
        version=installed_version(),
        title="Memory Gateway",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=read_resource,
        get_tool_input_schema=schemas.get,
    )
    server.middleware.append(_note_errors)
    return server


def tool_server(toolbox_of: ToolboxOf) -> Server[Any]:
    """Make the server that serves the tools through the gateway."""
    tools = {tool["name"]: types.Tool.model_validate(tool) for tool in manifest_of(ALL_TOOLS, "mcp")}

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        try:
            listed = await toolbox_of(context).listed()
        except MemoryGatewayError as error:  # no tools at all would look like a switched-off memory
            raise _raised(error) from error
        return types.ListToolsResult(tools=[tools[tool.name] for tool in listed])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            run_id = run_of(params)
            toolbox = toolbox_of(context)
            answer = await toolbox.call(params.name, params.arguments or {}, run_id)
            return succeeded(answer, toolbox.sensitive_content)
        except NotFound as error:
            raise MCPError(types.INVALID_PARAMS, error.detail, trace() or None) from error
        except MemoryGatewayError as error:
            return failed(error)

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        instance = instance_of(params.uri)
        try:
            text = context_text(await toolbox_of(context).context(instance))
        except MemoryGatewayError as error:
            raise _raised(error) from error
        read = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[read])

    return make_server(list_tools, call_tool, read_resource)


def run_of(params: types.CallToolRequestParams) -> str | None:
    """Return the run that a call names in its ``_meta``, which its client fills in and no model.

    Raises:
        InvalidRequest: it is no text.
    """
    run_id = None if params.meta is None else params.meta.get(RUN_META)
    if run_id is not None and not isinstance(run_id, str):
        raise InvalidRequest(f"_meta.{RUN_META} must be a text.", errors=[FieldError("run_id", "must be a text")])
    return run_id


def succeeded(answer: Mapping[str, Any], sensitive_content: str = "") -> types.CallToolResult:
    """Return an answer both as data and as text, for clients without structured output.

    The text of an answer that is nothing but one is that text, which a model reads better than JSON. Its ``_meta``
    tells what should not be kept and was found, as the header of an answer over HTTP does.
    """
    text = str(answer[ANSWER]) if set(answer) == {ANSWER} else json_text(dict(answer))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=dict(answer),
        is_error=False,
        _meta={SENSITIVE_META: sensitive_content} if sensitive_content else None,
    )


def failed(error: MemoryGatewayError) -> types.CallToolResult:
    """Return an error with its advice as text for the model, and for the client what a problem over HTTP tells."""
    log_failure(error)
    told: dict[str, Any] = {"code": error.code, "status": error.status, "advice": advice(error), **trace()}
    if isinstance(error, QuotaExceeded | Unavailable) and error.retry_after is not None:
        told["retry_after"] = error.retry_after
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=error_text(error))], is_error=True, _meta=told
    )


def _raised(error: MemoryGatewayError) -> MCPError:
    """Log an error, and return it as one of the protocol, which has no other place for it."""
    log_failure(error)
    return MCPError(types.INTERNAL_ERROR, error_text(error), {"code": error.code, **trace()})


async def _list_resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    """Return nothing: which instances there are is the caller's to know."""
    return types.ListResourcesResult(resources=[])


async def _list_templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[CONTEXT])


async def _note_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Note the code of an error that a message is answered with; log an unexpected one, and reveal nothing of it."""
    try:
        return await call_next(ctx)
    except MCPError as error:
        _note(ctx, str(error.code))
        raise
    except ValidationError:  # a caller's parameters of another form: their values do not belong in the log
        _note(ctx, str(types.INVALID_PARAMS))
        raise
    except Exception as error:
        structlog.get_logger().exception("defect", method=ctx.method)
        defect = MemoryGatewayError("The service failed in a way it should not. Its log tells why.")
        _note(ctx, defect.code)
        raise MCPError(types.INTERNAL_ERROR, error_text(defect), {"code": defect.code, **trace()}) from error


def _note(ctx: Context, code: str) -> None:
    """Note an error's code where the message came by a request, and what was called has noted none of its own."""
    if ctx.request is not None:
        note: RequestNote = ctx.request.scope["state"][NOTE]
        note.code = note.code or code
