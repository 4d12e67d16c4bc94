"""Measures, prints the table and writes it to ``bench/results``; exits with 1 over a limit."""

import asyncio
import sys
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from app.adapters.local.transformer import packaged_model_dir
from bench import edge, rows
from bench.assembly import assembly
from bench.audit import audit
from bench.channels import channels
from bench.coalescing import coalescing
from bench.d1 import installed
from bench.data import one_agent, tenants
from bench.fairness.long_work import long_work
from bench.load import measure_load
from bench.mcp import mcp
from bench.prefill import prefill
from bench.profiles import profiles
from bench.report import Figure, table, write
from bench.scenarios import Limits, Load, Start, embedding, starting, under_load
from bench.upstream import upstream
from tests.conformance.toolchain import missing

_TENANTS = 100
_RESIDENT_MB = 400.0
_EMBEDDING_MS = 12.0
_EMPTY_SECONDS, _LARGE_SECONDS = 2.0, 5.0


def main() -> None:
    """Run everything, or the parts that are named; only a whole run is written to ``latest``."""
    parser = ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)}; all without one")
    named = parser.parse_args().parts
    if unknown := set(named) - set(_PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    started = time.monotonic()
    figures = asyncio.run(_measure([name for name in _PARTS if name in named or not named]))
    if not named:
        write(figures, time.monotonic() - started)
    if figures:
        print(table(figures))
    sys.exit(any(figure.over for figure in figures))


async def _measure(parts: Sequence[str]) -> list[Figure]:
    figures = []
    for name in parts:
        _tell(name)
        figures += await _PARTS[name]()
    _tell("done")
    return figures


async def _embedded() -> list[Figure]:
    """Build the data sets, start on them and measure under load."""
    with TemporaryDirectory(prefix="bench-") as directory:
        loads = _loads(Path(directory))
        await asyncio.to_thread(_build, loads)
        empty = [Start("empty store", name, _EMPTY_SECONDS) for name in sorted({load.embedder for load in loads})]
        large = Start(loads[0].name, loads[0].embedder, _LARGE_SECONDS, loads[0].data_dir)
        figures = await starting([*empty, large])
        for load in loads:
            if load.embedder == "local":
                figures.append(await embedding(load.data_dir, _EMBEDDING_MS))
                figures.append(await channels(load))
            figures += await under_load(load)
    return figures


async def _rows() -> list[Figure]:
    if not installed():
        _tell(rows.not_measured())
    return await rows.rows()


async def _edge() -> list[Figure]:
    if missing():
        _tell(edge.not_measured())
    return await edge.edge()


async def _load() -> list[Figure]:
    """Measure what has no limit and files of its own."""
    await asyncio.to_thread(measure_load)
    return []


def _loads(directory: Path) -> list[Load]:
    """Return the data sets, the largest one first; those of MiniLM only where its weights are."""
    limits = Limits(recall=8.0, store=1.5)
    small = Limits(recall=3.0, message=2.0, store=1.5, memory=_RESIDENT_MB)
    loads = [
        Load("100k in one agent", directory / "agent", "hashing", one_agent(), 100_000, Limits(recall=12.0), 100, 0),
        Load("100k in 100 tenants", directory / "tenants", "hashing", tenants(_TENANTS), 100_000, limits, 800, 1000),
        Load(
            "10k in one agent",
            directory / "small",
            "hashing",
            one_agent(),
            10_000,
            small,
            800,
            1000,
            other_queries=True,
        ),
    ]
    if packaged_model_dir() is None:
        return loads
    model = Limits(recall=7.0, message=2.0, memory=_RESIDENT_MB)
    return [
        *loads,
        Load(
            "10k in one agent", directory / "model", "local", one_agent(), 10_000, model, 200, 200, other_queries=True
        ),
    ]


def _build(loads: Sequence[Load]) -> None:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        built = [pool.submit(prefill, load.data_dir, load.embedder, load.scopes, load.memories) for load in loads]
        for future in built:
            future.result()


def _tell(doing: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {doing}", file=sys.stderr, flush=True)


_PARTS: Mapping[str, Callable[[], Awaitable[list[Figure]]]] = {
    "embedded": _embedded,
    "mcp": mcp,
    "profiles": profiles,
    "audit": audit,
    "long-work": long_work,
    "rows": _rows,
    "upstream": upstream,
    "coalescing": coalescing,
    "edge": _edge,
    "assembly": assembly,
    "load": _load,
}


if __name__ == "__main__":
    main()
