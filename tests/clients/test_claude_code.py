"""The hooks for Claude Code, run as Claude Code runs them, against the running service."""

import ast
import asyncio
import importlib.util
import json
import os
import pwd
import re
import stat
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from app.domain.limits import ID_FORM, MAX_MESSAGES
from tests.support.service import Service

pytestmark = pytest.mark.thorough

FOLDER = Path(__file__).parents[2] / "clients" / "claude-code"
SCRIPT = FOLDER / "memory_hook.py"
SESSION = "4b6d9ca9-c2a0-43f8-a82d-2f0ced8146ae"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("memory_hook", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HOOK = loaded()


def line(type_: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a line of a transcript as Claude Code 2.1.197 writes it, as far as it matters here."""
    message = {"role": type_, "content": content, **more.pop("message", {})}
    return {"isSidechain": False, "type": type_, "message": message, "sessionId": SESSION, **more}


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


SAID: list[dict[str, Any]] = [
    line("user", "I live in Oslo", timestamp="2026-11-23T07:16:13.074Z"),
    line("assistant", [{"type": "thinking", "thinking": "hm"}, *text("Noted: Oslo")], timestamp="2026-11-23T07:16:14Z"),
    line("user", [*text("<system-reminder>be brief</system-reminder>I like tea")]),
]
LEFT_OUT: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue", "content": "I live in Oslo"},
    {"type": "attachment", "attachment": {"type": "hook_success", "content": "a hook said"}},
    {"type": "system", "subtype": "local_command", "content": "<local-command-stdout>done</local-command-stdout>"},
    line("assistant", [{"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "/etc/hosts"}}]),
    line("user", [{"type": "tool_result", "tool_use_id": "t", "content": text("127.0.0.1 localhost")}]),
    line("user", "<local-command-caveat>Caveat: ...</local-command-caveat>", isMeta=True),
    line("user", "<command-name>/compact</command-name>\n <command-message>compact</command-message>"),
    line("user", text("[Request interrupted by user for tool use]")),
    line("user", "This session is being continued from a previous one", isCompactSummary=True),
    line("assistant", text("No response requested."), message={"model": "<synthetic>"}),
    line("assistant", text("API Error: 529"), isApiErrorMessage=True),
    line("user", "what a subagent is asked", isSidechain=True),
    line("user", "   \n"),
    line("user", None),
    line("user", [7, {"type": "text", "text": 8}]),
    {"type": "user", "message": "no message"},
]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in [*SAID, *LEFT_OUT]) + '[1]\n{"type": "user", "mess')
    return path


def add(transcript: Path, said: dict[str, Any]) -> None:
    with transcript.open("a") as file:
        print(f"\n{json.dumps(said)}", file=file)


@dataclass(frozen=True)
class Pinned:
    """What the user's file says, and the environment that a project's settings may change."""

    file: Path
    said: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)

    def but(self, **said: str | None) -> "Pinned":
        """Return the same with other values in the file; None leaves one out."""
        changed = {name: value for name, value in {**self.said, **said}.items() if value is not None}
        return replace(self, said=changed)

    def where(self, environment: dict[str, str]) -> "Pinned":
        """Return the same with variables of the environment."""
        return replace(self, environment=environment)


@pytest.fixture
def pinned(url: str, service: Service, tmp_path: Path) -> Pinned:
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    return Pinned(tmp_path / "pinned.json", {"url": url, "token": token, "agent": "bot"})


def event(name: str, **more: Any) -> str:
    return json.dumps({"session_id": SESSION, "cwd": "/srv/project", "hook_event_name": name, **more})


async def run(standard_input: str, pinned: Pinned, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Write the user's file, and run the script with it."""
    pinned.file.write_text(json.dumps(pinned.said))
    pinned.file.chmod(0o600)
    return await run_with(standard_input, pinned, *arguments)


async def run_with(standard_input: str, pinned: Pinned, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with the user's file as it is."""

    def running() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", SCRIPT, "--settings", pinned.file, *arguments],
            input=standard_input,
            env=pinned.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return await asyncio.to_thread(running)


async def well(standard_input: str, pinned: Pinned) -> str:
    """Run the hook without anything to complain of, and return what it prints."""
    done = await run(standard_input, pinned)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


async def held(service: Service) -> list[dict[str, Any]]:
    """Return the memories of the agent, oldest first."""
    listed = await service.client.get("/memories?agent_id=bot&limit=100", headers=service.credential(admin=True))
    memories: list[dict[str, Any]] = listed.json()["memories"]
    return memories[::-1]


@pytest.mark.parametrize("name", ["PreCompact", "SessionEnd"])
async def test_what_was_said_becomes_memories_and_nothing_else(
    name: str, transcript: Path, pinned: Pinned, service: Service
) -> None:
    assert await well(event(name, transcript_path=str(transcript), trigger="auto"), pinned) == ""
    memories = await held(service)
    assert {each["content"] for each in memories} == {"I live in Oslo", "Noted: Oslo", "I like tea"}
    assert {each["session_id"] for each in memories} == {SESSION}
    said = {each["content"]: each for each in memories}
    assert said["I live in Oslo"]["occurred_at"] == "2026-11-23T07:16:13.074Z"
    assert said["Noted: Oslo"]["metadata"] == {"speaker": "assistant"}


async def test_the_same_transcript_again_adds_only_what_is_new(
    transcript: Path, pinned: Pinned, service: Service
) -> None:
    handing = event("PreCompact", transcript_path=str(transcript))
    await well(handing, pinned)
    before = await held(service)
    await well(handing, pinned)
    assert await held(service) == before
    add(transcript, line("user", "I moved to Bergen"))
    await well(handing, pinned)
    assert [each["content"] for each in await held(service)][-1] == "I moved to Bergen"
    assert len(await held(service)) == len(before) + 1


async def test_a_session_begins_with_what_the_profile_knows(pinned: Pinned, service: Service) -> None:
    assert await well(event("SessionStart", source="startup"), pinned) == ""
    await service.store("The door code is 4711")
    printed = json.loads(await well(event("SessionStart", source="compact"), pinned))
    assert printed["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    context = printed["hookSpecificOutput"]["additionalContext"]
    assert "The door code is 4711" in context
    assert context.startswith("From long-term memory, quoted from earlier conversations.")


async def test_what_was_said_in_one_session_is_known_in_the_next(
    transcript: Path, pinned: Pinned, tmp_path: Path
) -> None:
    of_the_project = pinned.but(agent=None)
    await well(event("PreCompact", transcript_path=str(transcript)), of_the_project)
    assert "I live in Oslo" in await well(event("SessionStart"), of_the_project)
    elsewhere = of_the_project.where({"CLAUDE_PROJECT_DIR": str(tmp_path)})
    assert await well(event("SessionStart"), elsewhere) == ""


async def test_a_long_message_is_divided_and_loses_nothing(tmp_path: Path, pinned: Pinned, service: Service) -> None:
    words = " ".join(f"wörd{number}" for number in range(9000))
    (tmp_path / "long.jsonl").write_text(json.dumps(line("user", words)))
    await well(event("PreCompact", transcript_path=str(tmp_path / "long.jsonl")), pinned)
    parts = [each["content"] for each in await held(service)]
    assert len(parts) == 3
    assert " ".join(parts) == words


@pytest.mark.parametrize("unbroken", ["x" * 100_000, "ü" * 50_000, "a\n" * 40_000, "\ud800" * 20_000])
def test_parts_are_whole_characters_that_the_service_takes(unbroken: str) -> None:
    parts = [each["content"] for each in HOOK.messages([json.dumps(line("assistant", text(unbroken)))])]
    assert all(len(part.encode()) <= HOOK.MAX_CONTENT_BYTES for part in parts)
    assert "".join("".join(parts).split()) == "".join(unbroken.replace("\ud800", "\ufffd").split())


def test_messages_go_in_requests_that_the_service_takes() -> None:
    many = list(HOOK.messages(json.dumps(line("user", f"number {number}")) for number in range(1100)))
    assert [len(batch) for batch in HOOK.batches(many)] == [MAX_MESSAGES, MAX_MESSAGES, 100]
    assert [each for batch in HOOK.batches(many) for each in batch] == many
    large = [{"role": "user", "content": "x" * HOOK.MAX_CONTENT_BYTES}] * MAX_MESSAGES
    sizes = [sum(len(each["content"]) for each in batch) for batch in HOOK.batches(large)]
    assert max(sizes) <= 4 * 1024 * 1024
    assert sum(sizes) == MAX_MESSAGES * HOOK.MAX_CONTENT_BYTES


@pytest.mark.parametrize(
    ("given", "changed", "says"),
    [
        ("", {}, "no event"),
        ("[]", {}, "no event of Claude Code"),
        (event("PreToolUse"), {}, "PreToolUse: there is nothing to do"),
        (event("SessionStart"), {"token": ""}, "token is no credential"),
        (event("SessionStart"), {"token": None}, "token is no credential"),
        (event("SessionStart"), {"token": "s3cr3t\nof two lines"}, "token is no credential"),
        (event("SessionStart"), {"token": "s3cr3t"}, "unauthenticated: "),
        (event("SessionStart"), {"agent": "not an agent"}, "invalid_request: "),
        (event("SessionStart"), {"agent": ""}, "agent is no profile"),
        (event("SessionStart"), {"url": "http://127.0.0.1:9"}, "http://127.0.0.1:9 does not answer"),
        (event("SessionStart"), {"url": "file:///etc"}, "url is not an http or https address"),
        (event("SessionStart"), {"url": None}, "url is not an http or https address"),
        (event("SessionStart"), {"url": "http://memory.example"}, "url must begin with https"),
        (event("SessionStart"), {"url": "http://192.0.2.1:8000"}, "url must begin with https"),
        (event("SessionStart"), {"url": "http://localhost.example"}, "url must begin with https"),
        (event("SessionStart"), {"url": "https://127.0.0.1:9@memory.example"}, "url is no address of a service"),
        (event("SessionStart"), {"url": "https://[::1"}, "url is no"),
        (event("PreCompact"), {}, "the transcript cannot be read"),
        (event("PreCompact", transcript_path="/no/such/file"), {}, "the transcript cannot be read"),
    ],
)
async def test_a_failure_is_one_line_and_never_stops_claude_code(
    given: str, changed: dict[str, str | None], says: str, pinned: Pinned
) -> None:
    done = await run(given, pinned.but(**changed))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("memory_hook: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert "s3cr3t" not in done.stderr


async def test_an_answer_that_is_not_the_services_is_a_failure_and_no_redirect_is_followed(
    pinned: Pinned, url: str
) -> None:
    answers = iter(
        [b"HTTP/1.1 200 OK\r\n\r\n<html>", b"HTTP/1.1 302 Found\r\nLocation: %b/readyz\r\n\r\n" % url.encode()]
    )

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(next(answers))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answered, "127.0.0.1") as server:
        there = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        told = [(await run(event("SessionStart"), pinned.but(url=there))) for _ in range(2)]
    assert [(each.returncode, each.stdout) for each in told] == [(0, "")] * 2
    assert "gave no answer that can be read" in told[0].stderr
    assert "the answer was 302" in told[1].stderr


@pytest.mark.parametrize("folder", ["/srv/a project", "/", "/srv/åäö", f"/{'long' * 40}", "/a/.hidden"])
async def test_each_directory_has_a_profile_that_is_an_agents_id(folder: str, tmp_path: Path) -> None:
    at = [Pinned(tmp_path / "none", {}, {"CLAUDE_PROJECT_DIR": each}) for each in (folder, f"{folder}/b")]
    profile, other = [(await run_with("", each, "profile")).stdout.strip() for each in at]
    assert re.fullmatch(ID_FORM, profile)
    assert profile != other


async def test_nothing_that_a_project_may_set_sends_the_credential_elsewhere(pinned: Pinned, service: Service) -> None:
    await service.store("The door code is 4711")
    asked: list[bytes] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(elsewhere, "127.0.0.1") as server:
        there = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        theirs = {"MEMORY_GATEWAY_URL": there, "MEMORY_GATEWAY_AGENT": "other", "MEMORY_GATEWAY_TOKEN": "theirs"}
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY"), there)
        printed = await well(event("SessionStart"), pinned.where(theirs | proxies | {"HOME": "/nowhere"}))
    assert "The door code is 4711" in printed
    assert asked == []


def test_the_file_is_where_the_account_has_its_home_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    for name in ("HOME", "XDG_CONFIG_HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    assert HOOK.pinned_file() == home / ".config" / "memory-gateway" / "claude-code.json"


async def test_a_file_that_others_may_read_or_that_is_a_link_is_not_taken(pinned: Pinned, tmp_path: Path) -> None:
    assert (await run(event("SessionStart"), pinned)).stderr == ""
    for mode in (0o640, 0o604, 0o620):
        pinned.file.chmod(mode)
        assert (
            "must be a file of yours that nobody else can read"
            in (await run_with(event("SessionStart"), pinned)).stderr
        )
    pinned.file.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(pinned.file)
    for path, says in ((link, "cannot be read"), (tmp_path, "cannot be read"), (tmp_path / "none", "is missing")):
        done = await run_with(event("SessionStart"), Pinned(path, {}))
        assert (done.returncode, done.stdout) == (0, "")
        assert says in done.stderr


async def test_setup_writes_the_file_for_its_owner_alone(pinned: Pinned, tmp_path: Path) -> None:
    at = Pinned(tmp_path / "new" / "claude-code.json", {})
    done = await run_with(f"{pinned.said['token']}\n", at, "setup", pinned.said["url"], "bot")
    assert (done.returncode, done.stderr) == (0, "")
    assert pinned.said["token"] not in done.stdout
    assert json.loads(at.file.read_text()) == pinned.said
    assert (stat.S_IMODE(at.file.stat().st_mode), stat.S_IMODE(at.file.parent.stat().st_mode)) == (0o600, 0o700)
    assert (await run_with(event("SessionStart"), at)).stderr == ""
    assert (await run_with("", at, "profile")).stdout == "bot\n"
    for arguments, said in ((["http://192.0.2.1"], "t"), ([pinned.said["url"]], ""), ([], "t")):
        refused = await run_with(said, at, "setup", *arguments)
        assert refused.returncode == 1
        assert json.loads(at.file.read_text()) == pinned.said


def test_the_script_is_python_of_the_version_that_its_readme_names() -> None:
    assert "Python 3.9 or newer" in (FOLDER / "README.md").read_text("utf-8")
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 9))


def test_the_settings_run_the_script_at_the_events_it_knows() -> None:
    hooks = json.loads((FOLDER / "settings.json").read_text("utf-8"))["hooks"]
    assert hooks.keys() == {"SessionStart", "PreCompact", "SessionEnd"}
    for name, ((matched,),) in ((name, [each["hooks"] for each in of]) for name, of in hooks.items()):
        assert matched["command"] == "python3 -I /path/to/memory-gateway/clients/claude-code/memory_hook.py"
        assert matched["timeout"] > HOOK.SECONDS[name]
