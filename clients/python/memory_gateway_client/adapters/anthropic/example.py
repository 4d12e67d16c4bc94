"""An assistant with a memory directory: ``example remember "Ann likes tea"``, in another process ``example ask "..."``.

The service, the credential and the agent are MEMORY_GATEWAY_URL, MEMORY_GATEWAY_TOKEN and MEMORY_GATEWAY_AGENT. The
credential is one for this agent alone, or an administrator's.
"""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import httpx2
from anthropic import Anthropic

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.anthropic import MemoryTool

NOTES = "/memories/notes.txt"


def answer(request: str) -> str:
    """Run the SDK's tool runner on one request of the user and return what the model says at the end."""
    # PUT YOUR MODEL HERE: Anthropic(). This one needs no key: it follows a script.
    http = httpx2.Client(transport=httpx2.MockTransport(ScriptedModel()))
    with MemoryClient() as memory, Anthropic(api_key="none", http_client=http) as anthropic:
        runner = anthropic.beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=1024,
            messages=[{"role": "user", "content": request}],
            tools=[MemoryTool(memory)],
        )
        return "".join(block.text for block in runner.until_done().content if block.type == "text")


class ScriptedModel:
    """The Messages API of a model that understands only ``remember ...`` and ``ask ...``."""

    def __init__(self) -> None:
        """Begin a conversation."""
        self._request = ""
        self._results: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Call the memory tool, or answer with what it has told."""
        new = json.loads(request.content)["messages"][-1]["content"]
        if isinstance(new, str):
            self._request = new
        else:
            self._results += new
        verb, _, words = self._request.partition(" ")
        block = _remember(words, self._results) if verb == "remember" else _ask(words, self._results)
        message = {"id": "msg", "type": "message", "role": "assistant", "model": "scripted", "content": [block]}
        usage = {"input_tokens": 0, "output_tokens": 0}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        return httpx2.Response(200, json=message | {"stop_reason": reason, "stop_sequence": None, "usage": usage})


def _remember(words: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not results:
        return _call({"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": words})
    if results[-1].get("is_error") and len(results) == 1 and "does not exist" in results[0]["content"]:
        return _call({"command": "create", "path": NOTES, "file_text": f"{words}\n"})
    return _text(results[-1]["content"] if results[-1].get("is_error") else "I have noted that.")


def _ask(words: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    if not results:
        return _call({"command": "view", "path": NOTES})
    if results[-1].get("is_error") and "does not exist" not in results[-1]["content"]:
        return _text(results[-1]["content"])
    asked = set(re.findall(r"\w+", words.lower()))
    notes = [line.partition("\t")[2] for line in results[-1]["content"].splitlines()[1:]]
    shared = {note: len(asked & set(re.findall(r"\w+", note.lower()))) for note in notes}
    best = max(shared, key=lambda note: shared[note], default="")
    return _text(best if shared.get(best) else "I have no note of that.")


def _call(command: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{command['command']}", "name": "memory", "input": command}


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
