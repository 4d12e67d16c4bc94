"""A LangChain agent that remembers from one run to the next.

::

    python -m memory_gateway_client.adapters.langchain.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.langchain.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT.
"""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, Self

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.langchain import memory_tools


class ScriptedModel(BaseChatModel):
    """PUT YOUR MODEL HERE. This one needs no key: it follows a script."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],  # noqa: ARG002 - it knows them
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - the script says which
        **_: object,
    ) -> Self:
        """Return the model itself."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - it stops by itself
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - there is nothing to stream
        **_: object,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_next(messages[-1]))])


def _next(last: BaseMessage) -> AIMessage:
    if isinstance(last, ToolMessage):
        return AIMessage(_answer(last))
    verb, _, said = last.text.partition(" ")
    name, argument = ("store_memory", "content") if verb == "remember" else ("recall_memory", "query")
    return AIMessage("", tool_calls=[{"id": "call-1", "name": name, "args": {argument: said}}])


def _answer(result: ToolMessage) -> str:
    if result.status == "error":
        return f"My memory failed. {result.text}"
    told = json.loads(result.text)
    if result.name == "store_memory":
        return "I will remember it."
    return str(told["entries"][0]["content"]) if told["entries"] else "I remember nothing of it."


def main(verb: str, said: str) -> None:
    """Let the agent answer and print what it says."""
    with MemoryClient() as client:
        agent = create_agent(ScriptedModel(), memory_tools(client))
        done = agent.invoke({"messages": [HumanMessage(f"{verb} {said}")]})
    print(done["messages"][-1].text)


if __name__ == "__main__":
    main(*sys.argv[1:])
