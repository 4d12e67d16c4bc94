"""The memory's tools for agents of the OpenAI Agents SDK: ``Agent(tools=[*memory_tools(client)])``."""

import json
from functools import partial
from typing import Any

from agents import FunctionTool, SpanError, get_current_span
from agents.tool_context import ToolContext

from memory_gateway_client import AsyncMemoryClient, InvalidRequest, MemoryGatewayError, tools

__all__ = ["memory_tools"]


def memory_tools(client: AsyncMemoryClient, tool_set: tools.ToolSet = "recall_store") -> list[FunctionTool]:
    """Return the tools of a set, for the client's agent.

    A call that fails does not end the run: the model is told what went wrong and what to do about it, and the span of
    the call, where there is tracing, carries the error's code. Only a client without an agent is a ``ValueError``.
    """
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=dict(tool.input_schema),
            on_invoke_tool=partial(_invoke, client, tool.name),
            strict_json_schema=tool_set == "profile",  # strict knows no object with free keys, such as metadata
        )
        for tool in tools.definitions(tool_set)
    ]


async def _invoke(client: AsyncMemoryClient, name: str, _: ToolContext[Any], written: str) -> str:
    try:
        return tools.text(await client.call_tool(name, _arguments(written)))
    except MemoryGatewayError as error:
        span = get_current_span()
        if span is not None:
            # The code alone: a trace leaves the machine, and the rest may quote what the model wrote.
            span.set_error(SpanError(message=error.code, data={"tool_name": name}))
        return tools.told(error)


def _arguments(written: str) -> dict[str, Any]:
    """Read what the model has written; nothing at all stands for no arguments.

    Raises:
        InvalidRequest: it is not a JSON object.
    """
    try:
        arguments = json.loads(written or "{}")
    except ValueError as error:
        raise _malformed(f"The arguments are not JSON: {error}.") from error
    if not isinstance(arguments, dict):
        raise _malformed("The arguments are not a JSON object.")
    return arguments


def _malformed(detail: str) -> InvalidRequest:
    return InvalidRequest(detail, code="malformed_request", status=400, advice=_AGAIN)


_AGAIN = "Write them as one JSON object and try again."
