"""What others notice of work that takes long: how long /healthz and another tenant's recall wait while it goes on.

``python -m bench.fairness.long_work`` prints, for each kind of work, both latencies without it and with it, in the same
minute, and the longest step of the event loop in CPU time, which a busy machine lengthens less than a latency.
"""

import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import click
from ulid import ULID

from app.bootstrap import wall_clock
from app.services.transfer.lines import write_memory
from app.services.transfer.record import Record
from bench.client import get, post_json
from bench.data import AUTH_SECRETS, Requests, credential, notes
from bench.fairness import attacker, victim
from bench.fairness.victim import Noticed, looking, notice
from bench.fairness.wire import Connection, request
from bench.prefill import prefill
from bench.server import Server, service

_QUIET, _LOUD = 1000, 10_000
_LONG_BYTES = 32 * 1024
_IMPORTED_LINES = 2000
_AT_ONCE = 2
_HEAD = """\
| ms, without -> with | /healthz p50 | p99 | recall p50 | p99 | longest step, CPU |
|---|---|---|---|---|---|"""
_ADMIN = credential(attacker.SCOPE, admin=True)


def works() -> dict[str, Iterator[bytes]]:
    """Return requests of the loud tenant that take long, each kind without end and never the same."""
    return {
        "stores of 32 KiB": _texts("/store", "content"),
        "recalls of 32 KiB": _texts("/recall", "query"),
        "imports of 2,000 lines": _imports(),
        "exports of 10,000 memories with vectors": iter(lambda: get("/export?vectors=true", _ADMIN), b""),
    }


def _texts(path: str, field: str) -> Iterator[bytes]:
    texts = notes(11)
    while True:
        text = "".join(islice(texts, 400))[:_LONG_BYTES]
        yield post_json(path, {"agent_id": attacker.SCOPE.agent_id, field: text}, _ADMIN)


def _imports() -> Iterator[bytes]:
    texts = notes(12)
    while True:
        records = [
            Record(attacker.SCOPE.agent_id, text, {}, id=str(ULID()), created_at=wall_clock())
            for text in islice(texts, _IMPORTED_LINES)
        ]
        content = b"".join(write_memory(record)[0] for record in records)
        yield request("POST", "/import", content, {**_ADMIN, "Content-Type": "application/x-ndjson"})


@asynccontextmanager
async def going_on(port: int, requests: Iterator[bytes]) -> AsyncIterator[list[int]]:
    """Send the requests one after the other on a few connections; give the list of their answers' statuses."""
    statuses: list[int] = []

    async def send() -> None:
        connection = Connection(port)
        while True:
            status, _ = await connection.ask(next(requests))
            statuses.append(status)

    tasks = [asyncio.create_task(send()) for _ in range(_AT_ONCE)]
    try:
        yield statuses
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
    for number, (name, requests) in enumerate(works().items()):
        idle = await notice(server.port, looking(20 + number), seconds=seconds)
        before = len(_steps(stalls))
        async with going_on(server.port, requests) as statuses:
            await asyncio.sleep(1)
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
