"""What others notice of work that takes long: how long /healthz and another tenant's recall wait while it goes on.

``python -m bench.fairness.long_work`` prints, for each kind of work, both latencies without it and with it, in the same
minute, and the longest step of the event loop in CPU time, which a busy machine lengthens less than a latency. The part
``long-work`` of ``make bench`` looks for a shorter time and more often, and holds what the work adds to a limit.
"""

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import click

from app.adapters.local.transformer import packaged_model_dir
from bench.data import AUTH_SECRETS, Requests
from bench.fairness import attacker, victim
from bench.fairness.long_requests import WORKS
from bench.fairness.victim import Noticed, looking, notice
from bench.prefill import prefill
from bench.report import Figure
from bench.server import Server, service

_QUIET, _LOUD = 1000, 10_000
_BEGINS_SECONDS = 1.0
_LOOKS, _LOOK_SECONDS = 3, 2.0
_ADDED_MS = 50.0
_HEAD = """\
| ms, without -> with | /healthz p50 | p99 | recall p50 | p99 | longest step, CPU |
|---|---|---|---|---|---|"""


@asynccontextmanager
async def going_on(port: int, name: str) -> AsyncIterator[list[int]]:
    """Ask for work of this name again and again, once it has begun; give the list of the answers' statuses."""
    command = [sys.executable, "-m", "bench.fairness.long_requests", name, str(port)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    told = process.stdout
    assert told is not None  # noqa: S101 - it was asked for
    await told.readline()
    statuses: list[int] = []

    async def read() -> None:
        async for line in told:
            statuses.append(int(line))  # noqa: PERF401 - each is told as it comes

    reading = asyncio.create_task(read())
    try:
        yield statuses
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


@dataclass(frozen=True, slots=True)
class Compared:
    """What the quiet tenant notices without and with one kind of work, look by look, and how that work fared."""

    name: str
    idle: Sequence[Noticed]
    busy: Sequence[Noticed]
    statuses: Sequence[int]
    steps: Sequence[float]

    def added(self, kind: str) -> list[float]:
        """Return the milliseconds by which the p99 of each look is longer with the work."""
        return [busy.p99(kind) - idle.p99(kind) for idle, busy in zip(self.idle, self.busy, strict=True)]

    @property
    def failed(self) -> int:
        """How many requests had no success, of the quiet tenant and of the work itself."""
        return sum(look.failed.total() for look in (*self.idle, *self.busy)) + self.refused

    @property
    def refused(self) -> int:
        """How many requests of the work were refused."""
        return sum(status >= 400 for status in self.statuses)  # noqa: PLR2004

    def row(self) -> str:
        """Return the figures of the first look as a row of the table."""
        idle, busy = self.idle[0], self.busy[0]
        cells = [f"{self.name} ({len(self.statuses)} answered, {self.refused} refused)"]
        for kind in idle.seconds:
            medians = [statistics.median(each.seconds[kind]) * 1000 for each in (idle, busy)]
            cells += [f"{medians[0]:.0f} -> {medians[1]:.0f}", f"{idle.p99(kind):.0f} -> {busy.p99(kind):.0f}"]
        longest = max(self.steps, default=0.0) * 1000
        return f"| {' | '.join([*cells, f'{longest:.0f}' if self.steps else 'less than 30'])} |"


async def compared(embedder: str, seconds: float, looks: int) -> AsyncIterator[Compared]:
    """Run a service with a quiet tenant and a loud one, and look so often without and with each kind of work."""
    with TemporaryDirectory(prefix="long-work-") as directory:
        async with _filled(Path(directory), embedder) as (server, stalls):
            for number, name in enumerate(WORKS):
                idle = await _look(server, 20 + number, seconds, looks)
                before = len(_steps(stalls))
                async with going_on(server.port, name) as statuses:
                    await asyncio.sleep(_BEGINS_SECONDS)
                    busy = await _look(server, 40 + number, seconds, looks)
                yield Compared(name, idle, busy, statuses, _steps(stalls)[before:])


@asynccontextmanager
async def _filled(directory: Path, embedder: str) -> AsyncIterator[tuple[Server, Path]]:
    """Run a service that both tenants have filled; give the file of its long steps too."""
    data_dir, stalls = Path(mkdtemp(dir=directory)), directory / "stalls"
    await asyncio.to_thread(prefill, data_dir, embedder, [victim.SCOPE], _QUIET)
    await asyncio.to_thread(prefill, data_dir, embedder, [attacker.SCOPE], _LOUD)
    settings = {
        "DATA_DIR": str(data_dir),
        "EMBEDDER": embedder,
        "AUTH_SECRETS": AUTH_SECRETS,
        "LOG_LEVEL": "error",
        "READER": "none",
    }
    (first,) = Requests([victim.SCOPE], seed=1).recalls(1)
    async with service(data_dir, settings, first, stalls=stalls) as server:
        await notice(server.port, looking(2), seconds=0, least=30)
        yield server, stalls


async def _look(server: Server, seed: int, seconds: float, looks: int) -> list[Noticed]:
    kinds = looking(seed)
    return [await notice(server.port, kinds, seconds=seconds) for _ in range(looks)]


def _steps(stalls: Path) -> list[float]:
    """Return the CPU seconds of the long steps so far, without what the host took."""
    told = (json.loads(line) for line in stalls.read_text("utf-8").splitlines()) if stalls.exists() else ()
    return [max(0.0, each["seconds"] - each["stolen"]) for each in told]


async def long_work() -> list[Figure]:
    """Measure how much longer /healthz and another tenant's recall wait, with MiniLM where its weights are."""
    embedder = "hashing" if packaged_model_dir() is None else "local"
    figures, failed = [], 0
    async for each in compared(embedder, _LOOK_SECONDS, _LOOKS):
        for kind, named in {"/healthz": "/healthz", "recall": "another's recall"}.items():
            name = f"{named} p99 beside {each.name}, {embedder}: added"
            figures.append(Figure(name, "ms", each.added(kind), limit=_ADDED_MS))
        failed += each.failed
    name = f"requests that failed beside long work, and of it, {embedder}"
    return [*figures, Figure(name, "requests", [failed], limit=0.0)]


async def _print(embedder: str, seconds: float) -> None:
    click.echo(_HEAD)
    async for each in compared(embedder, seconds, looks=1):
        click.echo(each.row())


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="How long each is looked at.")
@click.option("--embedder", default="local", show_default=True)
def main(seconds: float, embedder: str) -> None:
    """Measure and print."""
    asyncio.run(_print(embedder, seconds))


if __name__ == "__main__":
    main()
