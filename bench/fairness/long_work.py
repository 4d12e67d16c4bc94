"""What others notice of work that takes long: how long /healthz and another tenant's recall wait while it goes on.

``python -m bench.fairness.long_work`` prints, for each kind of work, both latencies without it and with it, in the same
minute, and the longest step of the event loop in CPU time, which a busy machine lengthens less than a latency.
"""

import asyncio
import json
import statistics
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import click

from bench.data import AUTH_SECRETS, Requests
from bench.fairness import attacker, victim
from bench.fairness.long_requests import WORKS
from bench.fairness.victim import Noticed, looking, notice
from bench.prefill import prefill
from bench.server import Server, service

_QUIET, _LOUD = 1000, 10_000
_BEGINS_SECONDS = 1.0
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


def row(name: str, idle: Noticed, busy: Noticed, statuses: list[int], steps: list[float]) -> str:
    """Return the figures of one kind of work as a row of the table."""
    cells = [f"{name} ({len(statuses)} answered, {sum(status >= 400 for status in statuses)} refused)"]  # noqa: PLR2004
    for kind in idle.seconds:
        medians = [statistics.median(each.seconds[kind]) * 1000 for each in (idle, busy)]
        cells += [f"{medians[0]:.0f} -> {medians[1]:.0f}", f"{idle.p99(kind):.0f} -> {busy.p99(kind):.0f}"]
    longest = max(steps, default=0.0) * 1000
    return f"| {' | '.join([*cells, f'{longest:.0f}' if steps else 'less than 30'])} |"


async def measured(server: Server, stalls: Path, seconds: float) -> AsyncIterator[str]:
    """Look at the quiet tenant without and with each kind of work, and give a row of figures for each."""
    for number, name in enumerate(WORKS):
        idle = await notice(server.port, looking(20 + number), seconds=seconds)
        before = len(_steps(stalls))
        async with going_on(server.port, name) as statuses:
            await asyncio.sleep(_BEGINS_SECONDS)
            busy = await notice(server.port, looking(40 + number), seconds=seconds)
        yield row(name, idle, busy, statuses, _steps(stalls)[before:])


def _steps(stalls: Path) -> list[float]:
    """Return the CPU seconds of the long steps so far, without what the host took."""
    told = (json.loads(line) for line in stalls.read_text("utf-8").splitlines()) if stalls.exists() else ()
    return [max(0.0, each["seconds"] - each["stolen"]) for each in told]


async def _run(directory: Path, embedder: str, seconds: float) -> None:
    data_dir, stalls = Path(mkdtemp(dir=directory)), directory / "stalls"
    await asyncio.to_thread(prefill, data_dir, embedder, [victim.SCOPE], _QUIET)
    await asyncio.to_thread(prefill, data_dir, embedder, [attacker.SCOPE], _LOUD)
    settings = {"DATA_DIR": str(data_dir), "EMBEDDER": embedder, "AUTH_SECRETS": AUTH_SECRETS, "LOG_LEVEL": "error"}
    (first,) = Requests([victim.SCOPE], seed=1).recalls(1)
    click.echo(_HEAD)
    async with service(data_dir, settings, first, stalls=stalls) as server:
        await notice(server.port, looking(2), seconds=0, least=30)
        async for line in measured(server, stalls, seconds):
            click.echo(line)


@click.command()
@click.option("--seconds", default=10.0, show_default=True, help="How long each is looked at.")
@click.option("--embedder", default="local", show_default=True)
def main(seconds: float, embedder: str) -> None:
    """Measure and print."""
    with TemporaryDirectory(prefix="long-work-") as directory:
        asyncio.run(_run(Path(directory), embedder, seconds))


if __name__ == "__main__":
    main()
