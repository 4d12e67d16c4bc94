"""Runs the hooks as Claude Code runs them, and makes what they are given."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.support.service import Service

FOLDER = Path(__file__).parents[2] / "clients" / "claude-code"
SCRIPT = FOLDER / "memory_hook.py"
SESSION = "4b6d9ca9-c2a0-43f8-a82d-2f0ced8146ae"


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


def transcript_of(path: Path, *said: dict[str, Any]) -> Path:
    """Write a transcript, as Claude Code does."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in said))
    return path


def add(transcript: Path, said: dict[str, Any]) -> None:
    with transcript.open("a") as file:
        print(f"\n{json.dumps(said)}", file=file)


@dataclass(frozen=True)
class Pinned:
    """What the user's file says, and the environment that a project's settings may change."""

    file: Path
    said: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)

    def but(self, **said: Any) -> "Pinned":
        """Return the same with other values in the file; None leaves one out."""
        changed = {name: value for name, value in {**self.said, **said}.items() if value is not None}
        return replace(self, said=changed)

    def where(self, environment: dict[str, str]) -> "Pinned":
        """Return the same with variables of the environment."""
        return replace(self, environment=environment)

    @property
    def state(self) -> Path:
        """Where the hooks keep what they know."""
        return self.file.with_suffix(".state")

    @property
    def spooled(self) -> list[Path]:
        """The parcels that wait, the oldest first."""
        return sorted((self.state / "spool").glob("*.parcel"))


def pinned_to(service: Service, url: str, folder: Path) -> Pinned:
    """Return the file of a user of the service."""
    token = service.credential()["Authorization"].removeprefix("Bearer ")
    return Pinned(folder / "pinned.json", {"url": url, "token": token, "agent": "bot"})


def event(name: str, **more: Any) -> str:
    return json.dumps({"session_id": SESSION, "cwd": "/srv/project", "hook_event_name": name, **more})


async def run(standard_input: str, pinned: Pinned, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Write the user's file, and run the script with it."""
    pinned.file.write_text(json.dumps({"prompt_seconds": 5, **pinned.said}))  # the machine may be busy
    pinned.file.chmod(0o600)
    return await run_with(standard_input, pinned, *arguments)


async def run_with(standard_input: str, pinned: Pinned, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with the user's file as it is."""

    def running() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-S", SCRIPT, "--settings", pinned.file, *arguments],
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


async def context_of(standard_input: str, pinned: Pinned) -> str:
    """Run the hook without anything to complain of, and return what the model is given."""
    printed = await well(standard_input, pinned)
    context: str = json.loads(printed)["hookSpecificOutput"]["additionalContext"] if printed else ""
    return context


async def until_delivered(pinned: Pinned) -> None:
    """Wait until nothing waits any more: a process of its own delivers what a hook had no time for."""
    async with asyncio.timeout(60):
        while pinned.spooled:
            await asyncio.sleep(0.02)
