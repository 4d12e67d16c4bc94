"""Builds the data sets, measures, prints the table and writes it to ``bench/results``; exits with 1 over a limit."""

import asyncio
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.local.transformer import packaged_model_dir
from bench.assembly import assembly
from bench.audit import audit
from bench.channels import channels
from bench.coalescing import coalescing
from bench.data import one_agent, tenants
from bench.edge import edge
from bench.load import measure_load
from bench.mcp import mcp
from bench.prefill import prefill
from bench.profiles import profiles
from bench.report import Figure, table, write
from bench.scenarios import Limits, Load, Start, embedding, starting, under_load
from bench.upstream import upstream

_TENANTS = 100
_RESIDENT_MB = 400.0
_EMBEDDING_MS = 12.0
_EMPTY_SECONDS, _LARGE_SECONDS = 2.0, 5.0


def main() -> None:
    """Run everything; it takes some minutes."""
    started = time.monotonic()
    with TemporaryDirectory(prefix="bench-") as directory:
        loads = _loads(Path(directory))
        _build(loads)
        figures = asyncio.run(_measure(loads))
    write(figures, time.monotonic() - started)
    print(table(figures))
    _tell("under rising load")
    measure_load()
    sys.exit(any(figure.over for figure in figures))


def _loads(directory: Path) -> list[Load]:
    """Return the data sets, the largest one first; those of MiniLM only where its weights are."""
    limits = Limits(recall=8.0, store=1.5)
    small = Limits(store=1.5, memory=_RESIDENT_MB)
    loads = [
        Load("100k in one agent", directory / "agent", "hashing", one_agent(), 100_000, Limits(recall=30.0), 100, 0),
        Load("100k in 100 tenants", directory / "tenants", "hashing", tenants(_TENANTS), 100_000, limits, 800, 1000),
        Load("10k in one agent", directory / "small", "hashing", one_agent(), 10_000, small, 800, 1000, cached=True),
    ]
    if packaged_model_dir() is None:
        return loads
    informative = Limits(memory=_RESIDENT_MB)
    return [
        *loads,
        Load("10k in one agent", directory / "model", "local", one_agent(), 10_000, informative, 200, 200, cached=True),
    ]


def _build(loads: Sequence[Load]) -> None:
    _tell(f"building {len(loads)} data sets")
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        built = [pool.submit(prefill, load.data_dir, load.embedder, load.scopes, load.memories) for load in loads]
        for future in built:
            future.result()


async def _measure(loads: Sequence[Load]) -> list[Figure]:
    _tell("starting and embedding")
    figures = await starting(
        [
            *(Start("empty store", embedder, _EMPTY_SECONDS) for embedder in sorted({load.embedder for load in loads})),
            Start(loads[0].name, loads[0].embedder, _LARGE_SECONDS, loads[0].data_dir),
        ]
    )
    for load in loads:
        if load.embedder == "local":
            figures.append(await embedding(load.data_dir, _EMBEDDING_MS))
            figures.append(await channels(load))
    _tell("over MCP")
    figures += await mcp()
    _tell("recalls of profiles")
    figures += await profiles()
    _tell("what the audit of recalls costs")
    figures += await audit()
    _tell("on Cloudflare's double")
    figures += await upstream()
    figures += await coalescing()
    _tell("behind the edge, where its packages are installed")
    figures += await edge()
    figures += await assembly()
    for load in loads:
        _tell(f"{load.name}, {load.embedder}")
        figures += await under_load(load)
    return figures


def _tell(doing: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {doing}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
