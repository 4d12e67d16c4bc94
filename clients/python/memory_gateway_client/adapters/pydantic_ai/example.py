"""An agent that remembers: ``example remember "Ann likes tea"``, and in another process ``example ask "drinks?"``."""

import asyncio
import json
import sys

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memory_gateway_client import AsyncMemoryClient
from memory_gateway_client.adapters.pydantic_ai import memory_tools


async def answer(request: str) -> str:
    """Run the agent on one request of the user and return what it says at the end."""
    async with AsyncMemoryClient() as memory:
        agent = Agent(FunctionModel(scripted), toolsets=[memory_tools(memory)])
        return (await agent.run(request)).output


def scripted(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """PUT YOUR MODEL HERE. This one needs no key and understands only ``remember ...`` and ``ask ...``."""
    parts = messages[-1].parts
    for part in parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart(_said(str(part.content)))])
    request = "".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    verb, _, rest = request.partition(" ")
    name, arguments = ("store_memory", {"content": rest}) if verb == "remember" else ("recall_memory", {"query": rest})
    return ModelResponse([ToolCallPart(name, arguments)])


def _said(result: str) -> str:
    try:
        found = json.loads(result)
    except ValueError:
        return result  # what went wrong, in words
    if "stored" in found:
        return "I will remember that."
    return str(found["entries"][0]["content"]) if found["entries"] else "I remember nothing about that."


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
