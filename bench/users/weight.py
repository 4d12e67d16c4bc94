"""The last section: memory and disk that the service takes while it does nothing, and how soon it answers."""

import asyncio
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
Memory is what the process keeps resident (RSS) once it has nothing more to do. "As installed" is the embedded
default with its model, MiniLM, and its reader; the other stores have the hashing embedder and no reader. Packages
are those of the locks of `make run`, as their files lie here, without what Python compiles of them. A start is wall
time, from the start of the process to its first 200 on POST /recall."""


async def weight() -> Section:
    """Measure starts in turn, the memory after each, and the files of the packages."""
    section = Section("weight", "Memory, disk and start", _NOTES)
    with TemporaryDirectory(prefix="bench-weight-") as directory:
        folders = await asyncio.to_thread(filled, [LARGE], Path(directory))
        kinds = {
            "empty store, hashing": ("hashing", ALONE, None, None, None),
            "empty store, as installed": ("local", INSTALLED, None, 200.0, None),
            "100k in one agent, hashing": ("hashing", ALONE, folders[LARGE.name], 350.0, 1.2),
        }
        starts: dict[str, list[float]] = {name: [] for name in kinds}
        memory: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(_STARTS):
            for name, (embedder, settings, folder, _, _) in kinds.items():
                with TemporaryDirectory() as empty:
                    first = first_request(LARGE)
                    async with embedded(folder or Path(empty), embedder, first, **settings) as server:
                        starts[name].append(server.first_answer)
                        await server.rest(windows=2)
                        memory[name].append(server.resident())
    rows = []
    for name, (_, _, _, most_memory, most_seconds) in kinds.items():
        resident = Figure(f"resident memory, {name}", "MB", memory[name], limit=most_memory)
        start = Figure(f"first answer, {name}", "s", starts[name], limit=most_seconds)
        section.figures += [resident, start]
        rows.append((name, number(resident.median), number(start.median)))
    packages = Figure("packages of the service", "MB", [packages_mb()], limit=300.0)
    section.figures.append(packages)
    section.show("Doing nothing", [("", "memory, MB", "start to first answer, s"), *rows])
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
