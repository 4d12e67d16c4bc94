"""The last section: memory and disk that the service takes while it does nothing, and how soon it answers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Figure
from bench.server import embedded
from bench.users.sections import Section, number
from bench.users.shapes import ALONE, INSTALLED, LARGE, first_request
from bench.users.table import filled

_STARTS = 3
_LOCKS = ("runtime", "model")
_ROOT = Path(__file__).parents[2]
_NOTES = """\
Memory is taken once nothing is left to do. RSS is what the processes keep resident; in PSS each page that they
share, also with other programs, is divided among them. "As installed" is the embedded default with its model,
MiniLM, and its reader; the other stores have the hashing embedder and no reader. Packages are those of the locks of
`make run`, as their files lie here, without what Python compiles of them. A start is wall time, from the start of
the process to its first 200 on POST /recall."""


@dataclass(frozen=True, slots=True)
class _Idle:
    """A service that does nothing, and what its memory in MB and its start in seconds may be."""

    name: str
    settings: Mapping[str, str]
    embedder: str = "hashing"
    memory: float | None = None
    seconds: float | None = None


_LARGE = _Idle("100k in one agent, hashing", ALONE, memory=350.0, seconds=1.2)
_KINDS = (
    _Idle("empty store, hashing", ALONE),
    _Idle("empty store, as installed, one process", INSTALLED, "local", memory=200.0),
    _Idle("empty store, as installed, two processes", {**INSTALLED, "WORKERS": "2"}, "local"),
    _LARGE,
)


async def weight() -> Section:
    """Measure starts in turn, the memory after each, and the files of the packages."""
    section = Section("weight", "Memory, disk and start", _NOTES)
    first = first_request(LARGE)
    starts, resident, shared = ({kind.name: list[float]() for kind in _KINDS} for _ in range(3))
    with TemporaryDirectory(prefix="bench-weight-") as directory:
        folders = await asyncio.to_thread(filled, [LARGE], Path(directory))
        for _ in range(_STARTS):
            for kind in _KINDS:
                with TemporaryDirectory() as empty:
                    folder = folders[LARGE.name] if kind is _LARGE else Path(empty)
                    async with embedded(folder, kind.embedder, first, **kind.settings) as server:
                        starts[kind.name].append(server.first_answer)
                        await server.rest(windows=2)
                        resident[kind.name].append(server.resident())
                        shared[kind.name].append(server.memory())
    rows = []
    for kind in _KINDS:
        figures = [
            Figure(f"memory (RSS), {kind.name}", "MB", resident[kind.name], limit=kind.memory),
            Figure(f"memory (PSS), {kind.name}", "MB", shared[kind.name]),
            Figure(f"first answer, {kind.name}", "s", starts[kind.name], limit=kind.seconds),
        ]
        section.figures += figures
        rows.append((kind.name, *(number(figure.median) for figure in figures)))
    packages = Figure("packages of the service", "MB", [packages_mb()], limit=300.0)
    section.figures.append(packages)
    section.show("Doing nothing", [("", "RSS, MB", "PSS, MB", "start to first answer, s"), *rows])
    section.show("On disk", [("", "MB"), ("packages of `make run`", number(packages.median))])
    return section


def packages_mb() -> float:
    """Return the size of the files of the locked packages that are installed, in MB."""
    names = {
        line.partition("==")[0]
        for lock in _LOCKS
        for line in (_ROOT / "deploy" / "lock" / f"{lock}.txt").read_text("utf-8").splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    }
    return sum(_size(name) for name in names) / 1e6


def _size(name: str) -> int:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:  # of another system
        return 0
    paths = [Path(str(file.locate())) for file in files if "__pycache__" not in file.parts]
    return sum(path.stat().st_size for path in paths if path.exists())
