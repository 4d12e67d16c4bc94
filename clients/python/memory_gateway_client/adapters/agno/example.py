"""An agent that knows the next day what it was told.

::

    python -m memory_gateway_client.adapters.agno.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.agno.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT.
"""

import asyncio
import json
import re
import sys

from agno.agent import Agent

from memory_gateway_client import AsyncMemoryClient
from memory_gateway_client.adapters.agno import AgentMemory
from memory_gateway_client.adapters.agno.scripted import ScriptedModel


def answer_of(told: str) -> str:
    """Answer with the best of what the memory has put into the request."""
    if away := re.search("Long-term memory is unavailable[^\n]*", told):
        return away[0]
    known = re.findall(r'"\d{4}-\d\d-\d\d: (\\".*\\")"', told)
    return str(json.loads(json.loads(f'"{known[0]}"'))).removeprefix("remember ") if known else "I will remember it."


async def answer(said: str) -> str:
    """Say something to the agent, in a session of its own, and return what it says."""
    async with AsyncMemoryClient() as client:
        memory = AgentMemory(client)
        agent = Agent(
            model=ScriptedModel(script=answer_of),  # PUT YOUR MODEL HERE. This one needs no key.
            knowledge_retriever=memory.retriever,
            add_knowledge_to_context=True,
            post_hooks=[memory.keep],
            telemetry=False,
        )
        return str((await agent.arun(said)).content)


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
