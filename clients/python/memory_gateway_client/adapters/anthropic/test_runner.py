"""The tool in the SDK's own tool runner, and beside the SDK's own tool over files."""

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.anthropic import AsyncMemoryTool, MemoryTool, example
from tests.support.service import Service

NOTES = "/memories/notes.txt"
ASKED: Any = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "What do I drink?"}],
}


class Model:
    """The Messages API of a model that makes these calls, one after the other, and then says ``done``."""

    def __init__(self, *calls: dict[str, Any]) -> None:
        self._calls = list(calls)
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/v1/messages"
        self.requests.append(json.loads(request.content))
        block: dict[str, Any] = {"type": "text", "text": "done"}
        if self._calls:
            id_ = f"toolu_{len(self.requests)}"
            block = {"type": "tool_use", "id": id_, "name": "memory", "input": self._calls.pop(0)}
        return httpx2.Response(
            200,
            json={
                "id": f"msg_{len(self.requests)}",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-5-5",
                "content": [block],
                "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        )

    @property
    def told(self) -> list[tuple[bool, str]]:
        """Of each call, whether it failed and what the model was told."""
        # Whether a request has the whole conversation or goes on with a thread, what is new stands last in it.
        blocks = [block for request in self.requests[1:] for block in request["messages"][-1]["content"]]
        return [(block.get("is_error", False), block["content"]) for block in blocks]


CALLS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": NOTES, "file_text": "I drink tea\n"},
    {"command": "create", "path": NOTES, "file_text": "I drink coffee\n"},
    {"command": "str_replace", "path": NOTES, "old_str": "tea", "new_str": "milk"},
    {"command": "view", "path": NOTES},
    {"command": "view", "path": "/memories/../secrets.env"},
    {"command": "forget", "path": NOTES},
]


def check(model: Model) -> None:
    """Check what the model was given and told of ``CALLS``."""
    assert model.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    viewed, created, again, replaced, shown, outside, unknown = model.told
    assert viewed[0] is created[0] is replaced[0] is shown[0] is False
    assert created[1] == f"File created successfully at: {NOTES}"
    assert again == (True, f"Error: File {NOTES} already exists")
    assert shown[1] == f"Here's the content of {NOTES} with line numbers:\n     1\tI drink milk\n     2\t"
    assert outside == (True, "Path /memories/../secrets.env would escape /memories directory")
    assert unknown[0] is True
    assert "There are view, create" in unknown[1]


async def test_the_sdks_runner_carries_out_what_the_model_asks_for(tool: MemoryTool, service: Service) -> None:
    model = Model(*CALLS)
    http = httpx2.Client(transport=httpx2.MockTransport(model))

    def running() -> Any:
        with Anthropic(api_key="none", http_client=http) as anthropic:
            return anthropic.beta.messages.tool_runner(tools=[tool], **ASKED).until_done()

    assert (await asyncio.to_thread(running)).content[0].text == "done"
    check(model)
    assert await service.contents("drink", top_k=1) != []


async def test_the_sdks_asynchronous_runner_does_too(client: MemoryClient) -> None:
    model = Model(*CALLS)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(model))
    async with AsyncAnthropic(api_key="none", http_client=http) as anthropic:
        runner = anthropic.beta.messages.tool_runner(tools=[AsyncMemoryTool(client)], **ASKED)
        last: Any = await runner.until_done()
    assert last.content[0].text == "done"
    check(model)


NAMES = ("a", "a/x.txt", "b", "a/y", "a/z/w.txt", "b/.hidden", "notes.txt", "c/d/e")
MOVES = [(old, new) for old in NAMES for new in NAMES if not new.startswith(f"{old}/")]
WORDS = ("tea", "coffee\n", "tea\nmilk\n", "", "\n\n", "one\ntwo\nthree\nfour\nfive\nsix", "tea tea\n", "a\r\nb\n")


def chosen(choices: random.Random) -> dict[str, Any]:
    """Return a command as a model could write it."""

    def path() -> str:
        return f"/memories/{choices.choice(NAMES)}"

    words = choices.choice(WORDS)
    old, new = choices.choice(MOVES)
    return choices.choice(
        [
            {"command": "view", "path": choices.choice(["/memories", path()])},
            {"command": "view", "path": path(), "view_range": [choices.randint(0, 3), choices.choice([-1, 2, 9])]},
            {"command": "create", "path": path(), "file_text": words},
            {
                "command": "str_replace",
                "path": path(),
                "old_str": choices.choice(["tea", "two", "\n"]),
                "new_str": words,
            },
            {"command": "insert", "path": path(), "insert_line": choices.randint(-1, 4), "insert_text": words},
            {"command": "delete", "path": path()},
            {"command": "rename", "old_path": f"/memories/{old}", "new_path": f"/memories/{new}"},
        ]
    )


def outcome(tool: MemoryTool | BetaLocalFilesystemMemoryTool, command: dict[str, Any]) -> str:
    """Return what is told; of what cannot be done alike, where the documentation and the SDK differ."""
    try:
        return re.sub(r"^[\d.]+[BKM]\t(\S*[^\s/])?(/?)$", r"\1\2", str(tool.call(command)), flags=re.MULTILINE)
    except ToolError as error:
        told = str(error.content).removeprefix("Error: ")
    except OSError:
        return "refused"  # of the SDK's tool: a file stands where a directory would have to be
    told = told.replace("range of lines of the file: [", "range [").removesuffix(".")
    if " is a file, not a directory" in told:
        return "refused"
    told = told.replace(" is not a file", " does not exist").removesuffix(". Please provide a valid path")
    return re.sub(r"lines: ([\d, ]+)\.", lambda lines: f"lines: {sorted(set(lines[1].split(', ')))}", told)


def without_empty_directories(folder: Path) -> None:
    """Remove the directories of the SDK's tool in which no file is left: ours has none."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


@pytest.mark.parametrize("seed", range(4))
async def test_it_tells_what_the_sdks_own_tool_tells_of_the_same_commands(
    tool: MemoryTool, tmp_path: Path, seed: int
) -> None:
    choices = random.Random(seed)
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path))
    done: list[dict[str, Any]] = []
    said: set[str] = set()
    for _ in range(120):
        command = chosen(choices)
        done.append(command)
        expected = outcome(theirs, command)
        without_empty_directories(tmp_path / "memories")
        told = (await asyncio.to_thread(outcome, tool, command)).replace(" and node_modules:", ":")
        if expected == "refused" and told.endswith(" does not exist"):
            expected = told  # of a move that is wrong in two ways, they tell another one
        assert told == expected, done[-5:]
        said.add(re.sub(r"[^a-zA-Z]*/memories.*|`.*", "", told.split("\n")[0]))
    assert len(said) >= 9, "most of what there is to tell was told"


async def test_the_example_remembers_and_answers(url: str, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    token = service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
    for name, value in {"URL": url, "TOKEN": token, "AGENT": "bot"}.items():
        monkeypatch.setenv(f"MEMORY_GATEWAY_{name}", value)

    async def said(*words: str) -> str:
        return await asyncio.to_thread(example.answer, " ".join(words))

    assert await said("ask what does Ann drink?") == "I have no note of that."
    assert await said("remember Ann likes tea") == "I have noted that."
    assert await said("remember The door code is 4711") == "I have noted that."
    assert await said("ask what does Ann drink, tea or coffee?") == "Ann likes tea"
    assert await said("ask which is the door code?") == "The door code is 4711"
    assert "32768" in await said("remember", "x" * 40_000)
