"""An agent that remembers: ``example remember "Ann likes tea"``, and in another process ``example ask "drinks?"``."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, TResponseInputItem, Usage
from agents.items import TResponseOutputItem, TResponseStreamEvent
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from memory_gateway_client import AsyncMemoryClient
from memory_gateway_client.adapters.openai_agents import memory_tools


async def answer(request: str) -> str:
    """Run the agent on one request of the user and return what it says at the end."""
    async with AsyncMemoryClient() as memory:
        agent = Agent(name="assistant", model=ScriptedModel(), tools=[*memory_tools(memory)])
        # Tracing is on by default, and sends every conversation to OpenAI.
        result = await Runner.run(agent, request, run_config=RunConfig(tracing_disabled=True))
        return str(result.final_output)


class ScriptedModel(Model):
    """PUT YOUR MODEL HERE. This one needs no key and understands only ``remember ...`` and ``ask ...``."""

    async def get_response(
        self,
        system_instructions: str | None,  # noqa: ARG002 - this model needs none
        input: str | list[TResponseInputItem],  # noqa: A002 - its name in the framework
        *_: object,
        **__: object,
    ) -> ModelResponse:
        """Call the tool that the user's words ask for, or answer with what it has returned."""
        return ModelResponse(output=[_next(input)], usage=Usage(), response_id=None)

    def stream_response(self, *_: object, **__: object) -> AsyncIterator[TResponseStreamEvent]:
        """Stream nothing: this model answers at once."""
        raise NotImplementedError


def _next(conversation: str | list[TResponseInputItem]) -> TResponseOutputItem:
    last: Any = {"content": conversation} if isinstance(conversation, str) else conversation[-1]
    if last.get("type") == "function_call_output":
        text = ResponseOutputText(type="output_text", text=_said(last["output"]), annotations=[])
        return ResponseOutputMessage(type="message", id="said", role="assistant", status="completed", content=[text])
    verb, _, rest = last["content"].partition(" ")
    name, arguments = ("store_memory", {"content": rest}) if verb == "remember" else ("recall_memory", {"query": rest})
    return ResponseFunctionToolCall(type="function_call", call_id="call", name=name, arguments=json.dumps(arguments))


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
