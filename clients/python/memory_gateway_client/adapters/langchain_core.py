"""The tools of the memory as LangChain's core calls them, for every framework that is built on it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field

from memory_gateway_client import AsyncMemoryClient, MemoryClient, MemoryGatewayError, tools


def memory_tools(client: MemoryClient | AsyncMemoryClient, tool_set: tools.ToolSet = "recall_store") -> list[BaseTool]:
    """Return the tools of a set, for the client's agent.

    A failed call is told to the model in a message with the status ``error``.

    Args:
        client: A ``MemoryClient`` serves agents that wait and, in a thread, those that await; an
            ``AsyncMemoryClient`` serves those that await.
        tool_set: ``recall_store`` for recall_memory and store_memory; ``profile`` for remember, recall, forget and
            list, where the agent is set to these.

    Raises:
        ValueError: the client has no agent.
    """
    if client.agent_id is None:
        raise ValueError("The client has no agent: give it one (agent_id= or MEMORY_GATEWAY_AGENT).")
    return [
        MemoryTool(
            name=tool.name,
            description=tool.description,
            args_schema=dict(tool.input_schema),
            handle_tool_error=True,
            client=client,
        )
        for tool in tools.definitions(tool_set)
    ]


class MemoryTool(BaseTool):
    """One of the memory's tools, bound to a client."""

    client: MemoryClient | AsyncMemoryClient = Field(exclude=True)

    def _run(self, /, **arguments: Any) -> str:  # noqa: ANN401 - whatever a model writes
        if isinstance(self.client, AsyncMemoryClient):
            raise NotImplementedError("An AsyncMemoryClient is awaited: use ainvoke, or give a MemoryClient.")
        with _told():
            return tools.text(self.client.call_tool(self.name, arguments))

    async def _arun(self, /, **arguments: Any) -> str:  # noqa: ANN401 - whatever a model writes
        with _told():
            if isinstance(self.client, AsyncMemoryClient):
                return tools.text(await self.client.call_tool(self.name, arguments))
            return tools.text(await asyncio.to_thread(self.client.call_tool, self.name, arguments))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except MemoryGatewayError as error:
        raise ToolException(tools.told(error)) from error
