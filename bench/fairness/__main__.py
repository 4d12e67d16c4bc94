"""Measures the goals of fairness between callers, prints them and writes ``bench/results/fairness.md``.

It exits with 1 where a goal is not met.
"""

import asyncio
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bench.fairness.crowding import crowd, crowded, flood
from bench.fairness.goal import Goal, table, write
from bench.fairness.storm import storm

_FLOODS = {
    "half-open": "1,000 half-open connections",
    "headers": "300 MB of headers",
    "body": "1 GiB of bodies",
}


@click.command()
@click.option("--requests", default=100_000, show_default=True, help="Hostile requests; 0 leaves them out.")
@click.option("--seconds", default=30.0, show_default=True, help="How long each crowd or flood is looked at; 0: none.")
@click.option("--embedder", default="local", show_default=True, help="Of the service that is crowded.")
@click.option("--hostile-embedder", default="hashing", show_default=True, help="Of the service under hostile requests.")
@click.option("--write/--no-write", "keep", default=True, help="Whether the results are kept.")
def main(requests: int, seconds: float, embedder: str, hostile_embedder: str, *, keep: bool) -> None:
    """Measure; with the defaults it takes most of an hour."""
    started = time.monotonic()
    with TemporaryDirectory(prefix="fairness-") as directory:
        goals = asyncio.run(_measure(Path(directory), requests, seconds, embedder, hostile_embedder))
    if keep:
        write(goals, time.monotonic() - started)
    print(table(goals))
    sys.exit(not all(goal.met for goal in goals))


async def _measure(directory: Path, requests: int, seconds: float, embedder: str, hostile: str) -> list[Goal]:
    goals: list[Goal] = []
    if seconds:
        async with crowded(directory, embedder, seconds) as service:
            goals += await crowd(service, seconds)
        async with crowded(directory, embedder, seconds) as service:
            for kind, named in _FLOODS.items():
                goals += await flood(service, kind, named, seconds)
    return (await storm(directory, requests, hostile) if requests else []) + goals


if __name__ == "__main__":
    main()
