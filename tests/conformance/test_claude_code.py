"""The hooks in Claude Code itself, run headless, whose model is a stand-in of the Messages API on loopback."""

import asyncio
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.services.access.credentials import Credentials
from tests.conformance.messages_api import SAID, MessagesApi, messages_api
from tests.conformance.toolchain import CLAUDE_CODE
from tests.process.conftest import Start, data_dir, spawn, start
from tests.process.server import SECRET, Server

__all__ = ["data_dir", "spawn", "start"]
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "claude-code"
_SECONDS = 120


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with messages_api() as api:
        yield api


@dataclass(frozen=True, slots=True)
class Project:
    """A project with the hooks, the service they call, and the model's stand-in."""

    folder: Path
    server: Server
    api: MessagesApi
    home: Path

    @property
    def pinned(self) -> Path:
        """The file that says where the service is."""
        return self.folder.parent / "pinned.json"

    def pin(self, url: str) -> None:
        """Write it."""
        token = Credentials({"test": SECRET}).issue("test", now=time.time_ns() // 1_000_000)
        pinned = {"url": url, "token": token, "agent": "coder", "prompt_seconds": 5}  # the machine may be busy
        self.pinned.write_text(json.dumps(pinned))
        self.pinned.chmod(0o600)

    def claude(self, *arguments: str) -> str:
        """Run a command of Claude Code, and return what it prints."""
        ours = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        done = subprocess.run(
            [CLAUDE_CODE, *arguments],
            cwd=self.folder,
            env=ours,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def say(self, prompt: str, *options: str, url: str | None = None) -> dict[str, Any]:
        """Run Claude Code on one prompt, with the service at an address, and return what it prints."""
        self.pin(self.server.url if url is None else url)
        said: dict[str, Any] = json.loads(self.claude("-p", prompt, "--output-format", "json", *options))
        return said

    async def contents(self) -> set[str]:
        """Return what the profile remembers, once nothing waits to be delivered."""
        spool = self.pinned.with_suffix(".state") / "spool"
        async with asyncio.timeout(_SECONDS):
            while self.server.url in self.pinned.read_text() and any(spool.glob("*.parcel")):
                await asyncio.sleep(0.05)
        async with self.server.client() as client:
            listed = await client.get("/memories", params={"agent_id": "coder", "limit": 100})
        return {each["content"] for each in listed.json()["memories"]}


@pytest.fixture
async def bare(tmp_path: Path, start: Start, api: MessagesApi) -> Project:
    """A project without the hooks, and an empty home."""
    if not CLAUDE_CODE.exists():
        pytest.skip("not installed: Claude Code; run make conformance on a machine with npm")
    project = Project(tmp_path / "project", await start(EMBEDDER="hashing"), api, tmp_path / "home")
    (project.folder / ".claude").mkdir(parents=True)
    project.home.mkdir()
    return project


@pytest.fixture
def project(bare: Project) -> Project:
    """A project with the hooks in its settings."""
    settings = (FOLDER / "settings.json").read_text("utf-8")
    script = "/path/to/memory-gateway/clients/claude-code/memory_hook.py"
    here = settings.replace(script, f"{FOLDER / 'memory_hook.py'} --settings {bare.pinned}")
    (bare.folder / ".claude" / "settings.json").write_text(here)
    return bare


@pytest.fixture
def plugged(bare: Project) -> Project:
    """A project of a user who has installed the plugin from the marketplace, as it is but for the file it reads."""
    source = bare.folder.parent / "marketplace"
    shutil.copytree(ROOT / ".claude-plugin", source / ".claude-plugin")
    plugin = shutil.copytree(FOLDER, source / "clients" / "claude-code")
    hooks = plugin / "hooks" / "hooks.json"
    hooks.write_text(hooks.read_text().replace('memory_hook.py\\"', f'memory_hook.py\\" --settings {bare.pinned}'))
    skill = plugin / "skills" / "memory-status" / "SKILL.md"
    skill.write_text(
        skill.read_text().replace('memory_hook.py" status', f'memory_hook.py" --settings {bare.pinned} status')
    )
    bare.claude("plugin", "marketplace", "add", str(source))
    bare.claude("plugin", "install", "memory-gateway@memory-gateway")
    return bare


async def test_what_a_session_compacts_is_remembered_and_the_next_session_begins_with_it(project: Project) -> None:
    session = project.say("I live in Oslo")["session_id"]
    assert await project.contents() == {"I live in Oslo", SAID}, "the end of a session hands it over"
    for word in ("tea", "milk", "salt"):
        project.say(f"The shop has {word}", "--resume", session, url="http://127.0.0.1:9")
    assert "The shop has salt" not in await project.contents(), "the service was away"
    compacted = project.say("/compact", "--resume", session)
    assert compacted["is_error"] is False
    said = {"I live in Oslo", SAID, "The shop has tea", "The shop has milk", "The shop has salt"}
    assert await project.contents() == said
    project.api.asked.clear()
    project.say("Where do I live?")
    assert "quoted from earlier conversations" in project.api.asked[-1]
    assert "I live in Oslo" in project.api.asked[-1]


@pytest.mark.long
async def test_a_compaction_alone_hands_the_session_over(project: Project) -> None:
    settings_file = project.folder / ".claude" / "settings.json"
    settings = json.loads(settings_file.read_text())
    del settings["hooks"]["SessionEnd"]
    settings_file.write_text(json.dumps(settings))
    session = project.say("I live in Oslo")["session_id"]
    assert await project.contents() == set()
    project.say("/compact", "--resume", session)
    assert await project.contents() == {"I live in Oslo", SAID}


async def test_claude_code_goes_on_without_the_service(project: Project) -> None:
    said = project.say("I live in Oslo", url="http://127.0.0.1:9")
    assert (said["is_error"], said["result"]) == (False, SAID)
    assert project.api.asked[-1].count("Long-term memory is unavailable now") == 1, "it is told once"
    compacted = project.say("/compact", "--resume", said["session_id"], url="http://127.0.0.1:9")
    assert compacted["is_error"] is False
    assert await project.contents() == set()


async def test_the_plugin_and_its_marketplace_are_what_claude_code_takes(bare: Project) -> None:
    bare.claude("plugin", "validate", "--strict", str(ROOT))
    bare.claude("plugin", "validate", "--strict", str(FOLDER))
    bare.claude("plugin", "marketplace", "add", str(ROOT))
    bare.claude("plugin", "install", "memory-gateway@memory-gateway")
    listed = bare.claude("plugin", "details", "memory-gateway")
    assert "Hooks (4)  SessionStart, UserPromptSubmit, PreCompact, SessionEnd" in listed
    assert "Skills (2)" in listed


async def test_the_plugin_makes_known_to_the_next_prompt_of_another_session_what_was_said_while_the_service_was_away(
    plugged: Project,
) -> None:
    plugged.say("The door code of the office is 4711")
    assert "The door code of the office is 4711" in await plugged.contents()
    plugged.say("My dog Rufus eats salmon on Fridays", url="http://127.0.0.1:9")
    assert "My dog Rufus eats salmon on Fridays" not in await plugged.contents()
    plugged.api.asked.clear()
    plugged.say("Say hello")
    assert "My dog Rufus eats salmon on Fridays" in plugged.api.asked[-1], "the session begins with it"
    assert "My dog Rufus eats salmon on Fridays" in await plugged.contents()


async def test_the_plugin_recalls_before_a_prompt_what_the_session_did_not_begin_with(plugged: Project) -> None:
    session = plugged.say("Say hello")["session_id"]
    await plugged.contents()
    plugged.say("The door code of the office is 4711", url="http://127.0.0.1:9")
    plugged.say("Good morning", "--resume", session)
    assert "The door code of the office is 4711" in await plugged.contents()
    async with plugged.server.client() as client:
        await client.post("/store", json={"agent_id": "coder", "content": "The wifi password of the office is rosebud"})
        for number in range(60):
            await client.post("/store", json={"agent_id": "coder", "content": f"Invoice {number} was paid in May."})
    plugged.api.asked.clear()
    plugged.say("What is the wifi password of the office?", "--resume", session)
    assert "recalled for this prompt and quoted" in plugged.api.asked[-1]
    assert plugged.api.asked[-1].count("The wifi password of the office is rosebud") == 1
    plugged.api.asked.clear()
    plugged.say("Once more: what is the wifi password of the office?", "--resume", session)
    assert plugged.api.asked[-1].count("The wifi password of the office is rosebud") == 1, "it stands there already"


@pytest.mark.long
async def test_a_skill_of_the_plugin_says_whether_memory_works(plugged: Project) -> None:
    plugged.say("/memory-gateway:memory-status")
    asked = plugged.api.asked[-1]
    assert f"service: {plugged.server.url} answers" in asked
    assert "profile: coder" in asked
