"""An agent that knows the next day what it was told.

::

    python -m memory_gateway_client.adapters.llama_index.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.llama_index.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT.
"""

import asyncio
import json
import re
import secrets
import sys
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata

from memory_gateway_client import AsyncMemoryClient
from memory_gateway_client.adapters.llama_index import MemoryGatewayBlock, RememberingMemory


class ScriptedModel(CustomLLM):
    """PUT YOUR MODEL HERE. This one needs no key: it says the best of what the memory has put into its prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        """Tell how much it can read."""
        return LLMMetadata(context_window=100_000, num_output=1_000)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:  # noqa: ANN401, ARG002, FBT001, FBT002 - the framework's
        """Answer a prompt."""
        return CompletionResponse(text=_answer(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:  # noqa: ANN401, FBT001, FBT002 - the framework's
        """Answer a prompt in one piece."""
        yield self.complete(prompt, formatted, **kwargs)


def _answer(prompt: str) -> str:
    if re.search(r"user: remember [^\n]*\nassistant:\s*$", prompt):
        return "I will remember it."
    if away := re.search("Long-term memory is unavailable.*", prompt):
        return away[0]
    known = re.search(r'^- \S+: (".*")$', prompt, re.MULTILINE)
    return str(json.loads(known[1])).removeprefix("remember ") if known else "I remember nothing of it."


async def answer(said: str) -> str:
    """Say something to the agent, in a session of its own, and return what it says."""
    async with AsyncMemoryClient() as client:
        memory = RememberingMemory.from_defaults(
            session_id=f"example-{secrets.token_hex(4)}", memory_blocks=[MemoryGatewayBlock(client)]
        )
        engine = SimpleChatEngine.from_defaults(llm=ScriptedModel(), memory=memory)
        return str(await engine.achat(said))


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
