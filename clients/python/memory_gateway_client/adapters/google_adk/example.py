"""An agent of ADK that knows the next day what it was told.

::

    python -m memory_gateway_client.adapters.google_adk.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.google_adk.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.agents.context import Context
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from memory_gateway_client import AsyncMemoryClient
from memory_gateway_client.adapters.google_adk import MemoryGatewayService


class ScriptedModel(BaseLlm):
    """PUT YOUR MODEL HERE: ``LlmAgent(model="gemini-flash-latest")``. This one needs no key: it follows a script."""

    model: str = "scripted"

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002, FBT001, FBT002 - the framework's
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer with the best of what the memory has put into the request."""
        texts = [part.text or "" for content in llm_request.contents for part in content.parts or []]
        said = "I will remember it." if texts[0].startswith("remember") else _answer("\n".join(texts))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=said)]))


def _answer(told: str) -> str:
    if away := re.search("^memory: (Long-term memory is unavailable.*)$", told, re.MULTILINE):
        return away[1]
    known = re.search('^user: (".*")$', told, re.MULTILINE)
    return str(json.loads(known[1])).removeprefix("remember ") if known else "I remember nothing of it."


async def keep(context: Context) -> None:
    """Keep the session after each answer; what was kept before is known."""
    await context.add_session_to_memory()


async def answer(said: str) -> str:
    """Run the agent on one message of the user, in a session of its own, and return what it says at the end."""
    agent = LlmAgent(name="assistant", model=ScriptedModel(), tools=[PreloadMemoryTool()], after_agent_callback=keep)
    async with AsyncMemoryClient() as client:
        # One agent for everybody, since the example has one user. Leave it out, and each user has an agent.
        memory = MemoryGatewayService(client, agent_of=lambda _app, _user: client.agent_id or "assistant")
        sessions = InMemorySessionService()
        runner = Runner(app_name="example", agent=agent, session_service=sessions, memory_service=memory)
        session = await sessions.create_session(app_name="example", user_id="ann")
        message = types.Content(role="user", parts=[types.Part(text=said)])
        answered = ""
        async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
            if event.is_final_response() and event.content:
                answered = "".join(part.text or "" for part in event.content.parts or [])
        await runner.close()
    return answered


if __name__ == "__main__":
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
