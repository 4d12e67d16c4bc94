"""The memory's tools, for a model that decides itself what to remember and what to look for."""

import asyncio
from collections.abc import Mapping
from typing import Any

from strands.types._events import ToolResultEvent
from strands.types.tools import AgentTool, ToolGenerator, ToolResult, ToolSpec, ToolUse

from memory_gateway_client import AsyncMemoryClient, MemoryGatewayError, tools
from memory_gateway_client.adapters.asking import Client


def memory_tools(client: Client, tool_set: tools.ToolSet = "recall_store") -> list[Any]:
    """Return the tools of a set, for the client's agent: ``Agent(tools=memory_tools(client))``.

    Each is an ``AgentTool``; the agent's own list is one of anything, and a list of these would be none to a checker.
    A call that fails does not end the run: the model is told what went wrong and what to do about it.

    Args:
        client: A ``MemoryClient`` serves agents that are called and such that are awaited, an ``AsyncMemoryClient``
            those that are awaited in its event loop.
        tool_set: ``recall_store`` for recall_memory and store_memory; ``profile`` for remember, recall, forget and
            list, where the agent is set to these.

    Raises:
        ValueError: the client has no agent.
    """
    if client.agent_id is None:
        raise ValueError("The client has no agent: give it one (agent_id= or MEMORY_GATEWAY_AGENT).")
    return [_MemoryTool(client, tool) for tool in tools.definitions(tool_set)]


class _MemoryTool(AgentTool):
    def __init__(self, client: Client, tool: tools.Tool) -> None:
        super().__init__()
        self._client = client
        self._tool = tool

    @property
    def tool_name(self) -> str:
        return self._tool.name

    @property
    def tool_spec(self) -> ToolSpec:
        schema = {"json": dict(self._tool.input_schema)}
        return ToolSpec(name=self._tool.name, description=self._tool.description, inputSchema=schema)

    @property
    def tool_type(self) -> str:
        return "memory_gateway"

    async def stream(
        self,
        tool_use: ToolUse,
        invocation_state: dict[str, Any],  # noqa: ARG002 - the framework's
        **_: Any,  # noqa: ANN401 - the same
    ) -> ToolGenerator:
        result = ToolResult(toolUseId=tool_use["toolUseId"], content=[], status="success")
        try:
            result["content"] = [{"text": await self._call(tool_use["input"])}]
        except MemoryGatewayError as error:
            result |= {"content": [{"text": tools.told(error)}], "status": "error"}
        yield ToolResultEvent(result)

    async def _call(self, arguments: Mapping[str, Any]) -> str:
        name = self._tool.name
        if isinstance(self._client, AsyncMemoryClient):
            return tools.text(await self._client.call_tool(name, arguments))
        return tools.text(await asyncio.to_thread(self._client.call_tool, name, arguments))
