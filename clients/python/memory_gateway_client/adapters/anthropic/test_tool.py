"""The commands, in the words of the memory tool's documentation, against the running service."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from anthropic.lib.tools import ToolError

from memory_gateway_client import MemoryClient
from memory_gateway_client.adapters.anthropic import MemoryTool
from memory_gateway_client.adapters.anthropic.conftest import Connect
from tests.support.service import Service

EMPTY = (
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
    "0B\t/memories"
)
NOTES = "/memories/notes.txt"
DRINKS = "tea\ncoffee\nmilk\ntea\n"


async def do(tool: MemoryTool, command: str, **arguments: Any) -> str:
    """Have the tool carry out what a model has written."""
    told = await asyncio.to_thread(tool.call, {"command": command, **arguments})
    assert isinstance(told, str)
    return told


async def refused(tool: MemoryTool, command: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as raised:
        await do(tool, command, **arguments)
    assert isinstance(raised.value.content, str)
    return raised.value.content


async def text(tool: MemoryTool, path: str = NOTES) -> str:
    """Return a file's text."""
    _, *lines = (await do(tool, "view", path=path)).split("\n")
    return "\n".join(line[7:] for line in lines)


async def test_each_command_answers_in_the_words_of_the_documentation(tool: MemoryTool) -> None:
    assert await do(tool, "view", path="/memories") == EMPTY
    told = await do(tool, "create", path=NOTES, file_text="Hello World\nThis is line two\n")
    assert told == "File created successfully at: /memories/notes.txt"
    assert await do(tool, "view", path=NOTES) == (
        "Here's the content of /memories/notes.txt with line numbers:\n"
        "     1\tHello World\n     2\tThis is line two\n     3\t"
    )
    assert await do(tool, "str_replace", path=NOTES, old_str="two", new_str="2\nand 3") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tHello World\n     2\tThis is line 2\n     3\tand 3\n     4\t"
    )
    told = await do(tool, "insert", path=NOTES, insert_line=1, insert_text="in between\n")
    assert told == "The file /memories/notes.txt has been edited."
    assert await text(tool) == "Hello World\nin between\nThis is line 2\nand 3\n"
    told = await do(tool, "rename", old_path=NOTES, new_path="/memories/old/final.txt")
    assert told == "Successfully renamed /memories/notes.txt to /memories/old/final.txt"
    assert await do(tool, "view", path="/memories") == (
        f"{EMPTY.partition('0B')[0]}44B\t/memories\n44B\t/memories/old/\n44B\t/memories/old/final.txt"
    )
    assert await do(tool, "delete", path="/memories/old") == "Successfully deleted /memories/old"
    assert await do(tool, "view", path="/memories") == EMPTY


GONE = "/memories/gone.txt"
TWICE = "No replacement was performed. Multiple occurrences of old_str `tea` in lines: 1, 4. Please ensure it is unique"
OUTSIDE = "Error: Invalid `insert_line` parameter: {}. It should be within the range of lines of the file: [0, 4]"


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        ("view", {"path": GONE}, f"The path {GONE} does not exist. Please provide a valid path."),
        ("create", {"path": NOTES, "file_text": "x"}, f"Error: File {NOTES} already exists"),
        ("create", {"path": "/memories/dir", "file_text": "x"}, "Error: File /memories/dir already exists"),
        ("create", {"path": "/memories", "file_text": "x"}, "Error: File /memories already exists"),
        ("create", {"path": f"{NOTES}/x", "file_text": "x"}, f"Error: {NOTES} is a file, not a directory"),
        (
            "str_replace",
            {"path": GONE, "old_str": "a", "new_str": "b"},
            f"Error: The path {GONE} does not exist. Please provide a valid path.",
        ),
        (
            "str_replace",
            {"path": "/memories/dir", "old_str": "a", "new_str": "b"},
            "Error: The path /memories/dir does not exist. Please provide a valid path.",
        ),
        (
            "str_replace",
            {"path": NOTES, "old_str": "beer", "new_str": "wine"},
            f"No replacement was performed, old_str `beer` did not appear verbatim in {NOTES}.",
        ),
        (
            "str_replace",
            {"path": NOTES, "old_str": "", "new_str": "wine"},
            f"No replacement was performed, old_str `` did not appear verbatim in {NOTES}.",
        ),
        (
            "str_replace",
            {"path": NOTES, "old_str": "tea", "new_str": "wine"},
            TWICE,
        ),
        (
            "str_replace",
            {"path": NOTES, "old_str": "f"},
            "No replacement was performed. Multiple occurrences of old_str `f` in lines: 2. Please ensure it is unique",
        ),
        ("insert", {"path": GONE, "insert_line": 0, "insert_text": "x"}, f"Error: The path {GONE} does not exist"),
        (
            "insert",
            {"path": "/memories/dir", "insert_line": 0, "insert_text": "x"},
            "Error: The path /memories/dir does not exist",
        ),
        *(
            (
                "insert",
                {"path": NOTES, "insert_line": line, "insert_text": "x"},
                OUTSIDE.format(line),
            )
            for line in (-1, 5)
        ),
        ("delete", {"path": GONE}, f"Error: The path {GONE} does not exist"),
        ("delete", {"path": "/memories/"}, "Cannot delete the /memories directory itself"),
        ("rename", {"old_path": GONE, "new_path": "/memories/x"}, f"Error: The path {GONE} does not exist"),
        (
            "rename",
            {"old_path": "/memories", "new_path": "/memories/x"},
            "Cannot rename the /memories directory itself",
        ),
        ("rename", {"old_path": "/memories/dir", "new_path": NOTES}, f"Error: The destination {NOTES} already exists"),
        ("rename", {"old_path": NOTES, "new_path": NOTES}, f"Error: The destination {NOTES} already exists"),
        (
            "rename",
            {"old_path": NOTES, "new_path": "/memories/dir"},
            "Error: The destination /memories/dir already exists",
        ),
        (
            "rename",
            {"old_path": "/memories/dir", "new_path": "/memories/dir/in/it"},
            "Error: The destination /memories/dir/in/it is inside /memories/dir",
        ),
        (
            "rename",
            {"old_path": "/memories/dir", "new_path": f"{NOTES}/dir"},
            f"Error: {NOTES} is a file, not a directory",
        ),
        ("view", {}, "Error: The parameter `path` of view must be a text."),
        ("view", {"path": NOTES, "view_range": [1]}, "Error: The parameter `view_range` of view must be two numbers"),
        (
            "insert",
            {"path": NOTES, "insert_line": "1", "insert_text": "x"},
            "`insert_line` of insert must be a number.",
        ),
        ("str_replace", {"path": NOTES, "old_str": "milk", "new_str": 7}, "`new_str` of str_replace must be a text."),
        ("clear", {}, "Error: Unknown command: 'clear'. There are view, create, str_replace,"),
    ],
)
async def test_what_cannot_be_done_is_told_and_changes_nothing(
    tool: MemoryTool, command: str, arguments: dict[str, Any], told: str
) -> None:
    await do(tool, "create", path=NOTES, file_text=DRINKS)
    await do(tool, "create", path="/memories/dir/a.txt", file_text="a")
    before = await do(tool, "view", path="/memories")
    said = await refused(tool, command, **arguments)
    assert said == told or ("must be" in told and told in said) or (command == "clear" and said.startswith(told))
    assert await do(tool, "view", path="/memories") == before
    assert await text(tool) == DRINKS


@pytest.mark.parametrize("written", [None, "view", [], {"command": None}, {"command": ["view"]}, {"path": NOTES}])
def test_what_is_no_command_is_told(written: object) -> None:
    with pytest.raises(ToolError, match="Unknown command"):
        MemoryTool(answered_by(unasked)).call(written)


ESCAPING = [
    "/memories/../../secrets.env",
    "/memories/..",
    "/memories/a/./b",
    "/memories/%2e%2e%2fsecrets.env",
    "/memories/%2E%2E/x",
    "/memories/a%5cb",
    "/memories/..\\secrets.env",
]


@pytest.mark.parametrize(
    "path",
    [
        *ESCAPING,
        *("", "/", "notes.txt", "/etc/passwd", "/memoriesnotes.txt", "memories/a", "/Memories/a"),
        *("/memories/a\nb", "/memories/a\0", "/memories/\u2028", "/memories/\ud800"),
        f"/memories/{'x' * 512}",
        f"/memories{'/x' * 9}",
    ],
)
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete", "rename", "to"])
def test_a_path_outside_of_the_directory_is_refused_by_every_command(command: str, path: str) -> None:
    arguments: dict[str, Any] = {"path": path, "file_text": "x", "old_str": "x", "insert_line": 0, "insert_text": "x"}
    both = {"old_path": NOTES, "new_path": path} if command == "to" else {"old_path": path, "new_path": NOTES}
    named = "rename" if command == "to" else command
    with pytest.raises(ToolError, match="escape /memories directory" if path in ESCAPING else "^Path "):
        MemoryTool(answered_by(unasked)).call({"command": named, **arguments, **both})


def unasked(request: httpx.Request) -> httpx.Response:
    raise AssertionError(request.url)


def answered_by(answer: Callable[[httpx.Request], Any]) -> MemoryClient:
    http = httpx.Client(transport=httpx.MockTransport(answer))
    return MemoryClient("http://service", "token", agent_id="bot", retries=0, http=http)


async def test_a_view_of_some_lines_counts_as_the_file_does(tool: MemoryTool) -> None:
    await do(tool, "create", path=NOTES, file_text="a\nb\nc\nd")
    shown = {
        (2, 3): "     2\tb\n     3\tc",
        (3, -1): "     3\tc\n     4\td",
        (0, 1): "     1\ta",
        (4, 99): "     4\td",
        (9, 10): "",
        (3, 2): "",
    }
    for range_, lines in shown.items():
        told = await do(tool, "view", path=NOTES, view_range=list(range_))
        assert told == f"Here's the content of {NOTES} with line numbers:\n{lines}"


async def test_a_listing_is_two_levels_deep_without_what_is_hidden(tool: MemoryTool) -> None:
    files = {"b.txt": 1536, "a/x.txt": 10, "a/deep/er/y.txt": 2048, ".git/z": 7, "a/.env": 7, "node_modules/p/q": 7}
    for path, size in files.items():
        await do(tool, "create", path=f"/memories/{path}", file_text="x" * size)
    _, *lines = (await do(tool, "view", path="/memories")).split("\n")
    assert lines == [
        "3.5K\t/memories",
        "2.0K\t/memories/a/",
        "2K\t/memories/a/deep/",
        "10B\t/memories/a/x.txt",
        "1.5K\t/memories/b.txt",
    ]
    header, *lines = (await do(tool, "view", path="/memories/a/deep/")).split("\n")
    assert header.startswith("Here're the files and directories up to 2 levels deep in /memories/a/deep, ")
    assert lines == ["2K\t/memories/a/deep", "2K\t/memories/a/deep/er/", "2K\t/memories/a/deep/er/y.txt"]


@pytest.mark.parametrize("blank", ["", "\n", "  \n\t\n"])
async def test_a_file_may_be_without_words(tool: MemoryTool, blank: str) -> None:
    await do(tool, "create", path=NOTES, file_text=blank)
    assert await text(tool) == blank
    await do(tool, "rename", old_path=NOTES, new_path="/memories/b")
    assert await text(tool, "/memories/b") == blank
    await do(tool, "insert", path="/memories/b", insert_line=0, insert_text="tea")
    assert (await text(tool, "/memories/b")).startswith("tea\n")


async def test_a_replacement_may_take_out_all_there_is(tool: MemoryTool) -> None:
    await do(tool, "create", path=NOTES, file_text="tea")
    await do(tool, "str_replace", path=NOTES, old_str="tea")
    assert await text(tool) == ""


async def test_quick_edits_keep_their_order(tool: MemoryTool) -> None:
    await do(tool, "create", path=NOTES, file_text="0")
    for number in range(30):
        await do(tool, "str_replace", path=NOTES, old_str=str(number), new_str=str(number + 1))
    assert await text(tool) == "30"


async def test_a_deletion_forgets_all_versions_and_can_be_taken_back(
    tool: MemoryTool, client: MemoryClient, service: Service
) -> None:
    await do(tool, "create", path=NOTES, file_text="The door code is 4711")
    await do(tool, "str_replace", path=NOTES, old_str="4711", new_str="1234")
    assert len(await service.contents("door code")) == 2
    await do(tool, "delete", path=NOTES)
    assert await service.contents("door code") == []
    assert await refused(tool, "delete", path=NOTES) == f"Error: The path {NOTES} does not exist"
    newest, _ = (await asyncio.to_thread(client.list_memories)).memories
    await asyncio.to_thread(client.unforget, newest.id)
    assert await text(tool) == "The door code is 1234"


async def test_a_file_that_was_deleted_may_be_created_again(tool: MemoryTool) -> None:
    for words in ("tea", "coffee", "tea"):
        await do(tool, "create", path=NOTES, file_text=words)
        assert await text(tool) == words
        await do(tool, "delete", path=NOTES)


async def test_a_renamed_directory_takes_all_files_along(tool: MemoryTool) -> None:
    for path in ("a/one", "a/b/two", "ab/three"):
        await do(tool, "create", path=f"/memories/{path}", file_text=path)
    await do(tool, "rename", old_path="/memories/a", new_path="/memories/c/d")
    assert await text(tool, "/memories/c/d/one") == "a/one"
    assert await text(tool, "/memories/c/d/b/two") == "a/b/two"
    assert await text(tool, "/memories/ab/three") == "ab/three"
    assert "does not exist" in await refused(tool, "view", path="/memories/a")
    too_deep = f"/memories{'/x' * 7}"
    assert "Path is too long" in await refused(tool, "rename", old_path="/memories/c", new_path=too_deep)
    assert await text(tool, "/memories/c/d/one") == "a/one"


async def test_files_are_rows_that_the_models_other_tools_do_not_find(tool: MemoryTool, service: Service) -> None:
    await do(tool, "create", path=NOTES, file_text="I live in Oslo")
    assert await service.contents("Oslo", for_model=True) == []
    (entry,) = await service.recall("Oslo")
    assert (entry["content"], entry["metadata"]["store.key"]) == ("I live in Oslo", NOTES)
    await service.store("I live in Rome", metadata={"store": "memory_20250818", "store.key": NOTES, "other": 1})
    assert await text(tool) == "I live in Oslo", "what merely looks like a file is none"


async def test_each_agent_has_files_of_its_own(tool: MemoryTool, connect: Connect) -> None:
    await do(tool, "create", path=NOTES, file_text="tea")
    assert await do(MemoryTool(connect("other")), "view", path="/memories") == EMPTY
    assert await text(MemoryTool(connect("bot", admin=True))) == "tea"


async def test_a_file_that_is_too_large_is_told_and_the_old_one_stays(tool: MemoryTool) -> None:
    await do(tool, "create", path=NOTES, file_text="x" * 32_768)
    told = await refused(tool, "insert", path=NOTES, insert_line=0, insert_text="y")
    assert "32768" in told
    assert await text(tool) == "x" * 32_768


class BreakingOff(httpx.HTTPTransport):
    """Loses the connection at the n-th request whose path ends like this; what comes before and after goes through."""

    def __init__(self, ending: str, number: int) -> None:
        super().__init__()
        self._ending, self._left = ending, number

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._left -= request.url.path.endswith(self._ending)
        if self._left == 0:
            self._left = -1
            raise httpx.ConnectError("lost", request=request)
        return super().handle_request(request)


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_deletion_that_breaks_off_leaves_the_file_and_is_made_again(
    tool: MemoryTool, client: MemoryClient, service: Service, number: int
) -> None:
    for at in range(3):
        words = {"file_text": "tea 0"} if at == 0 else {"old_str": f"tea {at - 1}", "new_str": f"tea {at}"}
        await do(tool, "create" if at == 0 else "str_replace", path=NOTES, **words)
    with httpx.Client(transport=BreakingOff("/forget", number)) as http:
        token = service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        breaking = MemoryTool(MemoryClient(client.base_url, token, agent_id="bot", retries=0, http=http))
        assert "No connection" in await refused(breaking, "delete", path=NOTES)
        assert await text(tool) == "tea 2"
        assert await do(breaking, "delete", path=NOTES) == f"Successfully deleted {NOTES}"
    assert await service.contents("tea") == []


async def test_an_edit_that_breaks_off_leaves_the_file_as_it_was(
    tool: MemoryTool, client: MemoryClient, service: Service
) -> None:
    await do(tool, "create", path=NOTES, file_text="tea")
    with httpx.Client(transport=BreakingOff("/store", 1)) as http:
        token = service.credential(agent="bot")["Authorization"].removeprefix("Bearer ")
        breaking = MemoryTool(MemoryClient(client.base_url, token, agent_id="bot", retries=0, http=http))
        told = await refused(breaking, "rename", old_path=NOTES, new_path="/memories/b")
        assert "No connection" in told
    assert await text(tool) == "tea"


async def test_an_outage_is_told_and_is_no_empty_directory() -> None:
    problem = {"code": "database_unavailable", "detail": "The database does not answer."}
    tool = MemoryTool(answered_by(lambda _: httpx.Response(503, json=problem)))
    told = await refused(tool, "view", path="/memories")
    assert told == "The database does not answer. Go on without long-term memory, and say so."


async def test_a_credential_for_all_agents_that_is_no_administrators_is_told_what_is_needed(
    service: Service, url: str
) -> None:
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    with MemoryClient(url, token, agent_id="bot") as client:
        assert "memory admin" in await refused(MemoryTool(client), "view", path="/memories")


def test_a_client_without_an_agent_is_refused() -> None:
    with MemoryClient("http://service", "token") as client, pytest.raises(ValueError, match="no agent"):
        MemoryTool(client)
