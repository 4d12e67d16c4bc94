"""Hooks that are killed at any moment, with the service away in between: nothing is lost, nothing is stored twice.

``HOOK_RUNS`` says how many runs (``make soak``: 10,000), ``SOAK_SEED`` repeats the choices of a run that has failed.
"""

import asyncio
import json
import os
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.process.conftest import Start
from tests.process.server import Server, credential

RUNS = int(os.environ.get("HOOK_RUNS", "100"))
SEED = int(os.environ.get("SOAK_SEED", str(secrets.randbelow(1_000_000))))
SCRIPT = Path(__file__).parents[2] / "clients" / "claude-code" / "memory_hook.py"
AT_ONCE = 3
KILLED = 0.5
"""The share of the runs that are killed, at a moment within the time that the last one took which was not."""
_AWAY = 0.25
"""The share of the time in which the service is not there."""
_PHASES = 16
_SUBJECTS = ("boat", "garden", "piano", "invoice", "recipe", "train", "kitchen", "letter")

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300 + RUNS)]


@dataclass(slots=True)
class Done:
    """A run of a hook: what it printed, unless it was killed."""

    printed: str | None
    ms: float


@dataclass(slots=True)
class Hooks:
    """Runs hooks, kills some of them, and notes how long the others took.

    Attributes:
        said: What was said: pairs of a session and a content.
        taken_ms: How long each run before a prompt took that was not killed.
    """

    folder: Path
    choices: random.Random
    left: int
    said: list[tuple[str, str]] = field(default_factory=list)
    taken_ms: list[float] = field(default_factory=list)
    killed: int = 0
    life_seconds: float = 0.1

    def pin(self, url: str) -> None:
        """Write the user's file."""
        draft = self.folder / "draft.json"
        draft.write_text(json.dumps({"url": url, "token": credential(), "agent": "coder", "prompt_seconds": 2}))
        draft.chmod(0o600)
        draft.replace(self.folder / "pinned.json")

    async def run(self, command: str, event: dict[str, str], *, may_die: bool = True) -> Done:
        """Run a hook, and perhaps kill it."""
        self.left -= 1
        dies = may_die and self.choices.random() < KILLED
        begun = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", SCRIPT, command, "--settings", self.folder / "pinned.json"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        answering = asyncio.create_task(process.communicate(json.dumps(event).encode()))
        if dies:
            await asyncio.wait([answering], timeout=self.choices.random() * self.life_seconds)
            if process.returncode is None:
                process.kill()
        printed, _ = await answering
        ms = (time.perf_counter() - begun) * 1000
        if process.returncode != 0:
            assert dies or command == "deliver", f"{command} ended with {process.returncode}"
            self.killed += dies
            return Done(None, ms)
        if not dies:
            self.life_seconds = ms / 1000
        return Done(printed.decode(), ms)

    async def session(self, number: int) -> None:
        """Live through a session: what is said stands in its transcript, and a hook runs at each event."""
        name, path = f"session-{number}", self.folder / f"{number}.jsonl"
        event = {"session_id": name, "transcript_path": str(path), "cwd": str(self.folder)}
        path.touch()
        shown: list[str] = []
        ended = [await self.run("session-start", event)]
        for turn in range(self.choices.randint(1, 4)):
            subject = self.choices.choice(_SUBJECTS)
            self._say(path, name, f"The {subject} of turn {turn} in session {number} is number {self.left}.")
            asked = await self.run("pre-turn", {**event, "prompt": f"What do you know of the {subject}?"})
            if asked.printed is not None:
                self.taken_ms.append(asked.ms)
                shown += [each["id"] for each in json.loads(asked.printed)["memories"]]
            ended.append(asked)
            if self.choices.random() < 0.2:
                ended.append(await self.run("pre-compact", event))
        assert len(set(shown)) == len(shown), "each memory is shown once in a session"
        if self.choices.random() < 0.3:
            await self.run("deliver", {})
        # Of a session none of whose hooks has lived, nobody knows: its last one does.
        await self.run("session-end", event, may_die=any(each.printed is not None for each in ended))

    def _say(self, path: Path, session: str, content: str) -> None:
        line = {"type": "user", "message": {"role": "user", "content": content}}
        with path.open("a") as file:
            file.write(f"{json.dumps(line)}\n")
        self.said.append((session, content))


async def test_nothing_is_lost_and_nothing_is_stored_twice(tmp_path: Path, start: Start) -> None:
    hooks = Hooks(tmp_path, random.Random(SEED), RUNS)
    server = await _serving(start, hooks)
    numbers = iter(range(RUNS))
    for phase in range(_PHASES):
        until = RUNS - RUNS * (phase + 1) // _PHASES

        async def live(until: int = until) -> None:
            while hooks.left > until:
                await hooks.session(next(numbers))

        away = hooks.choices.random() < _AWAY
        if away:
            server.kill()
            await server.ended()
        await asyncio.gather(*(live() for _ in range(AT_ONCE)))
        if away:
            server = await _serving(start, hooks)
    spool = tmp_path / "pinned.state" / "spool"
    async with asyncio.timeout(120):
        await hooks.run("session-start", {"session_id": "last"}, may_die=False)
        while any(spool.glob("*.parcel")):
            await hooks.run("deliver", {}, may_die=False)
    kept = await _kept(server)
    assert Counter(kept) == Counter(hooks.said), f"SOAK_SEED={SEED}"
    sys.stdout.write(f"\n{RUNS} runs, {hooks.killed} killed, {len(kept)} messages; {_quantiles(hooks.taken_ms)}\n")


async def _serving(start: Start, hooks: Hooks) -> Server:
    server = await start(AGENT_STORES_PER_MINUTE="1000000", TENANT_STORES_PER_MINUTE="1000000")
    hooks.pin(server.url)
    return server


async def _kept(server: Server) -> list[tuple[str, str]]:
    kept: list[tuple[str, str]] = []
    cursor: str | None = None
    async with server.client() as client:
        while True:
            asked: dict[str, str] = {"agent_id": "coder", "limit": "100"} | ({"cursor": cursor} if cursor else {})
            page = (await client.get("/memories", params=asked)).json()
            kept += [(each["session_id"], each["content"]) for each in page["memories"]]
            cursor = page.get("cursor") or page.get("next_cursor")
            if not cursor:
                return kept


def _quantiles(taken: Sequence[float]) -> str:
    ordered = sorted(taken)
    return ", ".join(
        f"p{share} {ordered[min(len(ordered) * share // 100, len(ordered) - 1)]:.0f} ms" for share in (50, 99)
    )
