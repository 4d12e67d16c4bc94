"""Measures, prints the tables and writes them to ``bench/results``; exits with 1 over a limit."""

import asyncio
import sys
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Mapping, Sequence

from bench import edge, rows
from bench.assembly import assembly
from bench.audit import audit
from bench.channels import channels
from bench.coalescing import coalescing
from bench.d1 import installed
from bench.fairness.long_work import long_work
from bench.load import measure_load
from bench.mcp import mcp
from bench.profiles import profiles
from bench.report import Figure, circumstances, table, write
from bench.upstream import upstream
from bench.users.pending import pending
from bench.users.processes import processes
from bench.users.sections import Section
from bench.users.table import cpu
from bench.users.weight import weight
from tests.conformance.toolchain import missing

_Part = Callable[[], Awaitable[list[Figure]]]


def main() -> None:
    """Run everything, or the parts that are named; the figures of a whole run are written to ``latest``."""
    parser = ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)}; all without one")
    named = parser.parse_args().parts
    if unknown := set(named) - set(_PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    before, started = circumstances(), time.monotonic()
    figures, failed = asyncio.run(_measure([name for name in _PARTS if name in named or not named]))
    if not named:
        told = {"seconds": round(time.monotonic() - started), "parts that failed": ", ".join(failed) or "none"}
        write(figures, {**before, **told})
    if figures:
        print(table(figures))
    sys.exit(bool(failed) or any(figure.over for figure in figures))


async def _measure(parts: Sequence[str]) -> tuple[list[Figure], list[str]]:
    """Measure the parts, and name those that failed: of twenty minutes one part is lost, and not all."""
    figures, failed = list[Figure](), list[str]()
    for name in parts:
        _tell(name)
        try:
            figures += await _PARTS[name]()
        except Exception:  # noqa: BLE001 - it is told, and the exit code is 1
            traceback.print_exc()
            failed.append(name)
    _tell("done")
    return figures, failed


def _section(measure: Callable[[], Awaitable[Section]]) -> _Part:
    """Return a part that keeps its section of the page of tables."""

    async def part() -> list[Figure]:
        section = await measure()
        section.keep()
        return section.figures

    return part


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


def _tell(doing: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {doing}", file=sys.stderr, flush=True)


_PARTS: Mapping[str, _Part] = {
    "table": _section(cpu),
    "processes": _section(processes),
    "pending": _section(pending),
    "weight": _section(weight),
    "channels": channels,
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
