"""How long a hook keeps a prompt waiting, from the start of its process to its end, by what it meets."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from app.domain.memory import Scope
from bench.client import HOST
from bench.data import Requests, credential, one_agent, questions
from bench.prefill import prefill
from bench.report import RESULTS, aligned, circumstances
from bench.server import ServerFailed, embedded

PROMPT_MS = 300
"""What a prompt may wait."""
_RUNS, _WARM_UP = 100, 10
_STORES = (100, 10_000, 100_000)
_LONG = 1_000_000
_REST_SECONDS = 15.0
_SEED = 7
_SCRIPT = Path(__file__).parents[1] / "clients" / "claude-code" / "memory_hook.py"
_NOTHING_FORGOTTEN = "does not mean that nothing is remembered"
"""What the model is told where there is no answer, or none in time."""
_COMMAND = "from app.interfaces.command import main; main()"
"""What the script ``memory-gateway`` does."""
_HEAD = ("a prompt", "runs", "p50 ms", "p95 ms", "p99 ms", "max ms", f"over {PROMPT_MS} ms", "without an answer")
_NOTES = """\
A run is a process of its own, as a harness starts it: `python3 -I -S memory_hook.py`, or the command
`memory-gateway hook pre-turn`. Its time is wall time from the start of the process to its end, one run after the other,
with everything that Python does. Each asks what was not asked before, in a session of its own. The service is the
embedded default with its model and its reader, on the same processors; it still reads the statements of a large store
in the background. Without an answer: the service was away, or did not answer within the time, and the model was told
that."""


@dataclass(frozen=True, slots=True)
class Waited:
    """How long the runs of one kind took.

    Attributes:
        ms: Of each run.
        unanswered: How many runs had no answer of the service.
    """

    name: str
    ms: Sequence[float]
    unanswered: int

    def row(self) -> list[str]:
        """Return the row of the table."""
        ordered = sorted(self.ms)
        shares = [ordered[min(len(ordered) * share // 100, len(ordered) - 1)] for share in (50, 95, 99)]
        over = sum(each > PROMPT_MS for each in ordered)
        return [
            self.name,
            str(len(ordered)),
            *(f"{each:.0f}" for each in (*shares, ordered[-1])),
            str(over),
            str(self.unanswered),
        ]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Runs the hook before prompts.

    Attributes:
        pinned: The user's file.
        sessions: Names of sessions.
    """

    pinned: Path
    sessions: Iterator[int]

    def pin(self, url: str, scope: Scope) -> None:
        """Write the user's file."""
        token = credential(scope)["Authorization"].removeprefix("Bearer ")
        self.pinned.write_text(json.dumps({"url": url, "token": token, "agent": scope.agent_id}))
        self.pinned.chmod(0o600)

    def wait(self, name: str, prompts: Iterator[str], command: Sequence[str] = ()) -> Waited:
        """Run the hook so many times, and return how long it took."""
        of_harness = not command
        command = command or (str(Path(sys.executable).resolve()), "-I", "-S", str(_SCRIPT))
        arguments = [*command, "--settings", str(self.pinned)]
        taken, unanswered = [], 0
        for number in range(_WARM_UP + _RUNS):
            event = {"session_id": f"s{next(self.sessions)}", "cwd": "/", "prompt": next(prompts)}
            given = json.dumps({**event, "hook_event_name": "UserPromptSubmit"} if of_harness else event)
            started = time.perf_counter()
            done = subprocess.run(arguments, input=given, capture_output=True, text=True, check=True)
            ms = (time.perf_counter() - started) * 1000
            if number >= _WARM_UP:
                taken.append(ms)
                unanswered += _NOTHING_FORGOTTEN in done.stdout
        return Waited(name, taken, unanswered)


async def hooks() -> list[Waited]:
    """Measure a prompt on stores of several sizes, and with a service that is away or does not answer."""
    (scope,) = one_agent()
    asked = questions(_SEED)
    found: list[Waited] = []

    async def measure(name: str, prompts: Iterator[str], command: Sequence[str] = ()) -> None:
        found.append(await asyncio.to_thread(waiting.wait, name, prompts, command))

    with TemporaryDirectory(prefix="bench-hooks-") as directory:
        waiting = Prompts(Path(directory) / "pinned.json", count())
        waiting.pin(f"http://{HOST}:9", scope)
        await measure("without a word: Python and the files of the session", iter(lambda: "", None))
        await measure("with the service away", asked)
        async with _silent() as url:
            waiting.pin(url, scope)
            await measure("with a service that never answers", asked)
        for memories in _STORES:
            folder = Path(directory) / str(memories)
            await asyncio.to_thread(prefill, folder, "local", [scope], memories)
            (first,) = Requests([scope], seed=_SEED).recalls(1)
            async with embedded(folder, "local", first, READER="auto") as server:
                with suppress(ServerFailed):  # to read a large store takes it long, and it goes on meanwhile
                    await server.rest(longest=_REST_SECONDS)
                waiting.pin(f"http://{HOST}:{server.port}", scope)
                await measure(f"of {memories:,} memories", asked)
                if memories == _STORES[-1]:
                    await measure(f"of {memories:,} memories, a prompt of 1 MB", _long(asked))
                    command = (sys.executable, "-c", _COMMAND, "hook", "pre-turn")
                    await measure(f"of {memories:,} memories, by memory-gateway hook", asked, command)
    return found


def _long(asked: Iterator[str]) -> Iterator[str]:
    filling = "a line of a log that somebody has pasted\n" * (_LONG // 41)
    return (f"{question}\n{filling}" for question in asked)


@asynccontextmanager
async def _silent() -> AsyncIterator[str]:
    """Listen, and never answer."""
    with socket.create_server((HOST, 0), backlog=_RUNS * 2) as listening:
        yield f"http://{HOST}:{listening.getsockname()[1]}"


def main() -> None:
    """Measure, print the table and write it to ``bench/results/hooks.md``."""
    started = time.monotonic()
    table = aligned([_HEAD, *(each.row() for each in asyncio.run(hooks()))])
    measured = {**circumstances(time.monotonic() - started), "load average at the end": os.getloadavg()[0]}
    told = "\n".join(f"- {name}: {value}" for name, value in measured.items())
    (RESULTS / "hooks.md").write_text(f"# What a hook costs a prompt\n\n{table}\n\n{_NOTES}\n\n{told}\n", "utf-8")
    print(table)


if __name__ == "__main__":
    main()
