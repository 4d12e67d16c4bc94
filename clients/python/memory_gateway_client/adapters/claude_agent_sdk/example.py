"""An agent that knows the next day what it was told.

::

    python -m memory_gateway_client.adapters.claude_agent_sdk.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.claude_agent_sdk.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT.
"""

import asyncio
import json
import re
import sys
from tempfile import TemporaryDirectory
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from memory_gateway_client import AsyncMemoryClient
from memory_gateway_client.adapters.claude_agent_sdk import SERVER, AgentMemory, memory_server, tool_names
from memory_gateway_client.adapters.claude_agent_sdk.scripted import scripted, texts


def answer_of(asked: dict[str, Any]) -> str:
    """Answer with the best of what the memory has put into the request."""
    said = texts(asked)
    if away := re.search("Long-term memory is unavailable.*", said):
        return away[0]
    known = re.findall(r'^- \S+: (".*")$', said, re.MULTILINE)
    return str(json.loads(known[0])).removeprefix("remember ") if known else "I will remember it."


async def answer(said: str) -> str:
    """Say something to the agent, in a session of its own, and return what it says at the end."""
    # PUT YOUR MODEL HERE: leave env= out, and Claude answers. This one needs no key, and follows a script.
    with scripted(answer_of) as model, TemporaryDirectory() as home:
        async with AsyncMemoryClient() as memory:
            options = ClaudeAgentOptions(
                hooks=AgentMemory(memory).hooks(),
                mcp_servers={SERVER: memory_server(memory)},
                allowed_tools=tool_names(),
                setting_sources=[],
                cwd=home,
                env={**model, "HOME": home},
            )
            answered = ""
            async for message in query(prompt=said, options=options):
                if isinstance(message, ResultMessage):
                    answered = message.result or ""
    return answered


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
