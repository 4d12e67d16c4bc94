"""The memory's tools as a server of MCP that runs in this process."""

from collections.abc import Callable, Coroutine
from typing import Any

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server

from memory_gateway_client import AsyncMemoryClient, MemoryGatewayError, tools

SERVER = "memory"
"""The name of the server in ``ClaudeAgentOptions(mcp_servers={SERVER: ...})``: those of its tools begin with it."""

_ANSWER = dict[str, Any]


def memory_server(client: AsyncMemoryClient, tool_set: tools.ToolSet = "recall_store") -> McpSdkServerConfig:
    """Return a server with the tools of a set, for the client's agent.

    A call that fails ends no turn: the model is told what went wrong and what to do about it.
    """
    made = [
        SdkMcpTool(
            name=tool.name,
            description=tool.description,
            input_schema=dict(tool.input_schema),
            handler=_handler(client, tool.name),
        )
        for tool in tools.definitions(tool_set)
    ]
    return create_sdk_mcp_server(SERVER, tools=made)


def tool_names(tool_set: tools.ToolSet = "recall_store") -> list[str]:
    """Return the names under which Claude knows the tools, for ``allowed_tools``."""
    return [f"mcp__{SERVER}__{tool.name}" for tool in tools.definitions(tool_set)]


def _handler(client: AsyncMemoryClient, name: str) -> Callable[[Any], Coroutine[Any, Any, _ANSWER]]:
    async def called(arguments: Any) -> _ANSWER:  # noqa: ANN401 - what the model has written
        try:
            return _said(tools.text(await client.call_tool(name, arguments)))
        except MemoryGatewayError as error:
            return _said(tools.told(error)) | {"is_error": True}

    return called


def _said(text: str) -> _ANSWER:
    return {"content": [{"type": "text", "text": text}]}
