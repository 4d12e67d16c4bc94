"""An agent of Strands that knows the next day what it was told.

::

    python -m memory_gateway_client.adapters.strands.example remember "The door code is 4711"
    python -m memory_gateway_client.adapters.strands.example ask "What is the door code?"

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT.
"""

import json
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

from pydantic import BaseModel
from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.strands import MemoryGatewayStore

T = TypeVar("T", bound=BaseModel)


class ScriptedModel(Model):
    """PUT YOUR MODEL HERE: ``Agent(model=...)``. This one needs no key: it follows a script."""

    def update_config(self, **model_config: Any) -> None:  # noqa: ANN401 - the framework's
        """Change nothing."""

    def get_config(self) -> dict[str, Any]:
        """Have no settings."""
        return {}

    def structured_output(
        self,
        output_model: type[T],
        prompt: Messages,
        system_prompt: str | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> AsyncGenerator[dict[str, T | Any], None]:
        """Know no such answer."""
        raise NotImplementedError

    async def stream(self, messages: Messages, *_: Any, **__: Any) -> AsyncIterator[StreamEvent]:  # noqa: ANN401
        """Answer with the best of what the memory has put beside the message."""
        texts = [block["text"] for block in messages[-1]["content"] if "text" in block]
        said = "I will remember it." if texts[0].startswith("remember") else _answer("\n".join(texts))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": said}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def _answer(told: str) -> str:
    if away := re.search("Long-term memory is unavailable[^<]*", told):
        return away[0]
    known = re.search(r'\d: (".*")', told)
    return str(json.loads(known[1])).removeprefix("remember ") if known else "I remember nothing of it."


def answer(said: str) -> str:
    """Run an agent on one message of the user, in a conversation of its own, and return what it says."""
    with MemoryClient() as client:
        memory = MemoryManager(stores=[MemoryGatewayStore(client)])
        agent = Agent(model=ScriptedModel(), memory_manager=memory, callback_handler=None)
        return str(agent(said)).strip()


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
