"""A model that needs no key: it follows a script."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse

Script: TypeAlias = Callable[[str], str | tuple[str, dict[str, Any]]]
"""Takes what a request says; returns what the model says, or the tool that it calls and with what."""


def _nothing(_told: str) -> str:
    return ""


@dataclass
class ScriptedModel(Model):
    """Answers as its script says."""

    id: str = "scripted"
    script: Script = field(default=_nothing)

    def invoke(self, messages: list[Message], assistant_message: Message, **_: object) -> ModelResponse:
        """Answer a request."""
        del assistant_message
        said = self.script("\n".join(str(message.content) for message in messages))
        if isinstance(said, str):
            return ModelResponse(role="assistant", content=said)
        name, given = said
        call = {
            "id": f"call-{len(messages)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        return ModelResponse(role="assistant", tool_calls=[call])

    async def ainvoke(self, messages: list[Message], assistant_message: Message, **_: object) -> ModelResponse:
        """Answer a request."""
        return self.invoke(messages, assistant_message)

    def invoke_stream(
        self, messages: list[Message], assistant_message: Message, **_: object
    ) -> Iterator[ModelResponse]:
        """Answer a request in one piece."""
        yield self.invoke(messages, assistant_message)

    async def ainvoke_stream(
        self, messages: list[Message], assistant_message: Message, **_: object
    ) -> AsyncIterator[ModelResponse]:
        """Answer a request in one piece."""
        yield self.invoke(messages, assistant_message)

    def _parse_provider_response(self, response: object, **_: object) -> ModelResponse:
        return ModelResponse(content=response)

    def _parse_provider_response_delta(self, response: object) -> ModelResponse:
        return ModelResponse(content=response)
