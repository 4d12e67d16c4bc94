"""The memory's tools for an agent of Agno: ``Agent(tools=memory_tools(client))``."""

from collections.abc import Callable
from typing import Any

from agno.tools.function import Function

from memory_gateway_client import AsyncMemoryClient, MemoryClient, MemoryGatewayError, tools


def memory_tools(client: MemoryClient | AsyncMemoryClient, tool_set: tools.ToolSet = "recall_store") -> list[Function]:
    """Return the tools of a set, for the client's agent.

    A call that fails ends no run: the model is told what went wrong and what to do about it.
    """
    return [
        Function(
            name=tool.name,
            description=tool.description,
            parameters=dict(tool.input_schema),
            entrypoint=_entrypoint(client, tool.name),
            skip_entrypoint_processing=True,
        )
        for tool in tools.definitions(tool_set)
    ]


def _entrypoint(client: MemoryClient | AsyncMemoryClient, name: str) -> Callable[..., Any]:
    if isinstance(client, MemoryClient):

        def called(**arguments: Any) -> str:  # noqa: ANN401 - what the model has written
            try:
                return tools.text(client.call_tool(name, arguments))
            except MemoryGatewayError as error:
                return tools.told(error)

        return called

    async def awaited(**arguments: Any) -> str:  # noqa: ANN401 - what the model has written
        try:
            return tools.text(await client.call_tool(name, arguments))
        except MemoryGatewayError as error:
            return tools.told(error)

    return awaited
