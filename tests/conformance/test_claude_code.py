"""The hooks in Claude Code itself, run headless, whose model is a stand-in of the Messages API on loopback."""

import json
import os
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
FOLDER = Path(__file__).parents[2] / "clients" / "claude-code"
_SECONDS = 120


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with messages_api() as api:
        yield api


@dataclass(frozen=True, slots=True)
class Project:
    """A project with the hooks in its settings, the service they call, and the model's stand-in."""

    folder: Path
    server: Server
    api: MessagesApi

    @property
    def pinned(self) -> Path:
        """The file that says where the service is."""
        return self.folder.parent / "pinned.json"

    def pin(self, url: str) -> None:
        """Write it."""
        token = Credentials({"test": SECRET}).issue("test", now=time.time_ns() // 1_000_000)
        self.pinned.write_text(json.dumps({"url": url, "token": token, "agent": "coder"}))
        self.pinned.chmod(0o600)

    def say(self, prompt: str, *options: str, url: str | None = None) -> dict[str, Any]:
        """Run Claude Code on one prompt, with the service at an address, and return what it prints."""
        ours = {
            "HOME": str(self.folder.parent / "home"),
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        self.pin(self.server.url if url is None else url)
        done = subprocess.run(
            [CLAUDE_CODE, "-p", prompt, "--output-format", "json", *options],
            cwd=self.folder,
            env=ours,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    async def contents(self) -> set[str]:
        """Return what the profile remembers."""
        async with self.server.client() as client:
            listed = await client.get("/memories", params={"agent_id": "coder", "limit": 100})
        return {each["content"] for each in listed.json()["memories"]}


@pytest.fixture
async def project(tmp_path: Path, start: Start, api: MessagesApi) -> Project:
    if not CLAUDE_CODE.exists():
        pytest.skip("not installed: Claude Code; run make conformance on a machine with npm")
    project = Project(tmp_path / "project", await start(EMBEDDER="hashing"), api)
    settings = (FOLDER / "settings.json").read_text("utf-8")
    (project.folder / ".claude").mkdir(parents=True)
    script = "/path/to/memory-gateway/clients/claude-code/memory_hook.py"
    here = settings.replace(script, f"{FOLDER / 'memory_hook.py'} --settings {project.pinned}")
    (project.folder / ".claude" / "settings.json").write_text(here)
    (tmp_path / "home").mkdir()
    return project


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
    compacted = project.say("/compact", "--resume", said["session_id"], url="http://127.0.0.1:9")
    assert compacted["is_error"] is False
    assert await project.contents() == set()
