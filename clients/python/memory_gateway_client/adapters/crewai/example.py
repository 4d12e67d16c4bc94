"""A crew that knows the next day what it was told.

::

    python -m memory_gateway_client.adapters.crewai.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.crewai.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT. CrewAI
tells its maker of its use; here it is asked not to.
"""

import json
import os
import re
import sys
from typing import Any

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.crewai import GatewayMemory


class ScriptedModel(BaseLLM):
    """PUT YOUR MODEL HERE: ``Agent(llm="openai/gpt-5-mini")``. This one needs no key: it follows a script."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:  # noqa: ANN401 - the framework's
        """Answer with the best of what the memory has put into the task."""
        told = messages if isinstance(messages, str) else "\n".join(str(each.get("content")) for each in messages)
        said = "I will remember it." if re.search("Current Task: remember", told) else _answer(told)
        return f"Thought: I know the answer.\nFinal Answer: {said}"


def _answer(told: str) -> str:
    if away := re.search("Long-term memory is unavailable.*", told):
        return away[0]
    known = re.search(r'\d: (".*")', told)
    if known is None:
        return "I remember nothing of it."
    task = re.search("^Task: (?:remember )?(.*)$", str(json.loads(known[1])), re.MULTILINE)
    return task[1] if task else known[1]


def answer(said: str) -> str:
    """Have a crew do one task, and return what comes of it."""
    with MemoryClient() as client:
        agent = Agent(role="Assistant", goal="Help", backstory="You help.", llm=ScriptedModel(model="scripted"))
        task = Task(description=said, expected_output="An answer", agent=agent)
        crew = Crew(agents=[agent], tasks=[task], memory=GatewayMemory(client))
        return str(crew.kickoff())


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
