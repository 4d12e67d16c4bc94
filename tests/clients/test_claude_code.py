"""The hooks for Claude Code, run as Claude Code runs them, against the running service."""

import ast
import asyncio
import json
import os
import pwd
import re
import stat
from pathlib import Path

import pytest

from app.domain.limits import ID_FORM
from memory_gateway_hook import events, spool, transcript
from memory_gateway_hook.pinned import pinned_file
from tests.clients.hooks import (
    FOLDER,
    LEFT_OUT,
    SAID,
    SCRIPT,
    SESSION,
    Pinned,
    add,
    event,
    held,
    line,
    pinned_to,
    run,
    run_with,
    text,
    until_delivered,
    well,
)
from tests.support.service import Service

pytestmark = pytest.mark.thorough


@pytest.fixture
def transcript_path(tmp_path: Path) -> Path:
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in [*SAID, *LEFT_OUT]) + '[1]\n{"type": "user", "mess')
    return path


@pytest.fixture
def pinned(url: str, service: Service, tmp_path: Path) -> Pinned:
    return pinned_to(service, url, tmp_path)


@pytest.mark.parametrize("name", ["PreCompact", "SessionEnd"])
async def test_what_was_said_becomes_memories_and_nothing_else(
    name: str, transcript_path: Path, pinned: Pinned, service: Service
) -> None:
    assert await well(event(name, transcript_path=str(transcript_path), trigger="auto"), pinned) == ""
    await until_delivered(pinned)
    memories = await held(service)
    assert {each["content"] for each in memories} == {"I live in Oslo", "Noted: Oslo", "I like tea"}
    assert {each["session_id"] for each in memories} == {SESSION}
    said = {each["content"]: each for each in memories}
    assert said["I live in Oslo"]["occurred_at"] == "2026-11-23T07:16:13.074Z"
    assert said["Noted: Oslo"]["metadata"] == {"speaker": "assistant"}


async def test_the_same_transcript_again_adds_only_what_is_new(
    transcript_path: Path, pinned: Pinned, service: Service
) -> None:
    handing = event("PreCompact", transcript_path=str(transcript_path))
    await well(handing, pinned)
    before = await held(service)
    await well(handing, pinned)
    assert await held(service) == before
    add(transcript_path, line("user", "I moved to Bergen"))
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
    transcript_path: Path, pinned: Pinned, tmp_path: Path
) -> None:
    of_the_project = pinned.but(agent=None)
    await well(event("PreCompact", transcript_path=str(transcript_path)), of_the_project)
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
    parts = [each["content"] for each in transcript.messages([json.dumps(line("assistant", text(unbroken)))])]
    assert all(len(part.encode()) <= transcript.MAX_CONTENT_BYTES for part in parts)
    assert "".join("".join(parts).split()) == "".join(unbroken.replace("\ud800", "\ufffd").split())


def test_messages_go_in_requests_that_the_service_takes() -> None:
    many = list(transcript.messages(json.dumps(line("user", f"number {number}")) for number in range(250)))
    assert [len(batch) for batch in spool.parcelled(many)] == [100, 100, 50]
    assert [each for batch in spool.parcelled(many) for each in batch] == many
    large = [{"role": "user", "content": "x" * transcript.MAX_CONTENT_BYTES}] * 100
    sizes = [sum(len(each["content"]) for each in batch) for batch in spool.parcelled(large)]
    assert max(sizes) <= 4 * 1024 * 1024
    assert sum(sizes) == 100 * transcript.MAX_CONTENT_BYTES


@pytest.mark.parametrize(
    ("given", "changed", "says"),
    [
        ("", {}, "no JSON"),
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
        (event("SessionStart"), {"url": "https://[::1"}, "url is no address"),
        (event("PreCompact"), {}, "the transcript cannot be read"),
        (event("PreCompact", transcript_path="/no/such/file"), {}, "the transcript cannot be read"),
    ],
)
async def test_a_failure_is_one_line_and_never_stops_claude_code(
    given: str, changed: dict[str, str | None], says: str, pinned: Pinned
) -> None:
    done = await run(given, pinned.but(**changed))
    assert done.returncode == 0
    assert done.stderr.startswith("memory_hook: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert "s3cr3t" not in done.stderr + done.stdout
    if done.stdout:  # what the user is told, where Claude Code tells it
        assert says in json.loads(done.stdout)["systemMessage"]


async def test_an_answer_that_is_not_the_services_is_a_failure_and_no_redirect_is_followed(
    pinned: Pinned, url: str
) -> None:
    answers = iter(
        [
            b"HTTP/1.1 200 OK\r\n\r\n<html>",
            b"HTTP/1.1 302 Found\r\nLocation: %b/readyz\r\n\r\n" % url.encode(),
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
            b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n{}",
            b"SSH-2.0-none\r\n\r\n",
            b"",
        ]
    )

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(next(answers))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answered, "127.0.0.1") as server:
        there = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        told = [
            (await run(event("SessionStart", session_id=f"s{number}"), pinned.but(url=there))) for number in range(7)
        ]
    assert [each.returncode for each in told] == [0] * 7
    assert all("unavailable" in each.stdout for each in told)
    unread = "gave no answer that can be read"
    says = [unread, "the answer of http://127.0.0.1", "was 502", unread, unread, unread, unread]
    assert [expected in each.stderr for expected, each in zip(says, told, strict=True)] == [True] * 7


async def test_an_answer_in_chunks_is_read(pinned: Pinned) -> None:
    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (b'{"summary": ', b'"The door ', b'code is 4711"}', b""):
            writer.write(b"%x;x=y\r\n%b\r\n" % (len(part), part))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answered, "127.0.0.1") as server:
        there = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert "The door code is 4711" in await well(event("SessionStart"), pinned.but(url=there))


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
    assert pinned_file() == str(home / ".config" / "memory-gateway" / "claude-code.json")


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
        done = await run_with(event("UserPromptSubmit", prompt="tea"), Pinned(path, {}))
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
    for path in (SCRIPT, *(FOLDER / "memory_gateway_hook").glob("*.py")):
        ast.parse(path.read_text("utf-8"), feature_version=(3, 9))


@pytest.mark.parametrize("name", ["settings.json", "hooks/hooks.json"])
def test_the_settings_and_the_plugin_run_the_script_at_the_events_it_knows(name: str) -> None:
    hooks = json.loads((FOLDER / name).read_text("utf-8"))["hooks"]
    assert hooks.keys() == events.SECONDS.keys()
    there = {
        "settings.json": "/path/to/memory-gateway/clients/claude-code/memory_hook.py",
        "hooks/hooks.json": '"${CLAUDE_PLUGIN_ROOT}/memory_hook.py"',
    }[name]
    for event_name, ((matched,),) in ((key, [each["hooks"] for each in of]) for key, of in hooks.items()):
        assert matched["command"] == f"python3 -I -S {there}"
        assert matched["timeout"] > events.SECONDS[event_name]


def test_the_marketplace_names_the_plugin_where_it_lies() -> None:
    root = FOLDER.parents[1]
    marketplace = json.loads((root / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    (listed,) = marketplace["plugins"]
    plugin = json.loads((root / listed["source"] / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert (root / listed["source"]).resolve() == FOLDER.resolve()
    assert listed["name"] == plugin["name"] == "memory-gateway"
