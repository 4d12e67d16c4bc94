"""The memory's tools for agents of Pydantic AI: ``Agent(toolsets=[memory_tools(client)])``."""

from typing import Any

from pydantic_ai import AbstractToolset, ModelRetry, RunContext, ToolDefinition, ToolFailed
from pydantic_ai.toolsets import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from memory_gateway_client import AsyncMemoryClient, InvalidRequest, MemoryGatewayError, tools

__all__ = ["memory_tools"]

_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Of what is in the object the service judges, in words made for the model."""


def memory_tools(client: AsyncMemoryClient, tool_set: tools.ToolSet = "recall_store") -> AbstractToolset[object]:
    """Return the tools of a set, for the client's agent, as a toolset.

    A call that fails does not end the run: the model is told what went wrong and what to do about it. Wrong arguments
    are a ``ModelRetry`` as long as the agent's retries allow one; all else is a ``ToolFailed``. Only a client without
    an agent is a ``ValueError``.
    """
    return _MemoryToolset(client, tool_set)


class _MemoryToolset(AbstractToolset[object]):
    def __init__(self, client: AsyncMemoryClient, tool_set: tools.ToolSet) -> None:
        self._client = client
        self._tool_set = tool_set

    @property
    def id(self) -> str | None:
        return None

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.input_schema),
                    return_schema=dict(tool.output_schema),
                    metadata={"tags": list(tool.tags)},
                ),
                max_retries=ctx.max_retries,
                args_validator=_OBJECT,
            )
            for tool in tools.definitions(self._tool_set)
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[object],
        tool: ToolsetTool[object],  # noqa: ARG002 - the framework's
    ) -> str:
        try:
            return tools.text(await self._client.call_tool(name, tool_args))
        except InvalidRequest as error:
            if ctx.retry >= ctx.max_retries:
                # One more retry than the agent allows would end the run.
                raise ToolFailed(tools.told(error)) from error
            raise ModelRetry(tools.told(error)) from error
        except MemoryGatewayError as error:
            raise ToolFailed(tools.told(error)) from error
